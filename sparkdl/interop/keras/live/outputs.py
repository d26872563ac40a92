"""Output of a Keras model: axis order and mask as the loss takes them."""

from typing import Any

import numpy as np

from sparkdl.errors import ConfigError, ShapeError, brief

FORMAT = "data_format"  # option of image layers


def output_shape(model: Any, input_shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape of one example's output, as the loss takes it; see `has_units_last`.

    Raises
    ------
    ShapeError
        If the model cannot take the input, or does not return a single float32 array with a batch
        axis.
    ConfigError
        If layers have different data formats.
    """
    import keras

    try:
        y = model(keras.KerasTensor((2, *input_shape)))
    except Exception as error:
        raise ShapeError(
            f"KerasModel.make must give a model that takes {input_shape}, got {error}"
        ) from error
    shape = getattr(y, "shape", None)
    if shape is None or len(shape) < 2 or shape[0] != 2 or y.dtype != "float32":
        raise ShapeError(
            "KerasModel.make must give a model with one float32 output (batch, units, ...), got "
            f"{brief(y)} for a batch of 2"
        )
    one = tuple(shape[1:])
    return (one[-1], *one[:-1]) if has_units_last(model, one) else one


def has_units_last(model: Any, shape: tuple[int, ...]) -> bool:
    """Returns whether an output (H, W, units) must become (units, H, W) for the loss.

    This holds for images and volumes, unless layers are channels first, as Keras's losses have
    classes on the last axis. Rows and sequences (T, units) are unchanged.

    Raises
    ------
    ConfigError
        If layers have different data formats.
    """
    if len(shape) < 3:
        return False
    layers = model._flatten_layers(include_self=False)
    formats = {getattr(layer, FORMAT) for layer in layers if hasattr(layer, FORMAT)} - {None}
    if len(formats) > 1:
        raise ConfigError(
            f"KerasModel.make must give a model of images whose layers have one {FORMAT}, got "
            f"{' and '.join(sorted(formats))}; give all of them the same"
        )
    return formats != {"channels_first"}


def masks_steps(model: Any, input_shape: tuple[int, ...], input_type: str) -> bool:
    """Returns whether a model of sequences (T, units) masks steps of its output."""
    import keras
    from keras.src import backend

    found, kind = [], input_type.replace("64", "32")

    def call(x):
        y = model(x)
        found.append(mask_of(y))
        return y

    try:
        backend.compute_output_spec(call, keras.KerasTensor((2, *input_shape), dtype=kind))
    except Exception:  # from operations that need values, on torch with a GPU as device
        with keras.device("cpu"):
            call(np.zeros((2, *input_shape), kind))
    return found[-1] is not None


def mask_of(y: Any) -> Any:
    """Returns the mask that Keras attached to a tensor, or None."""
    from keras.src import backend

    return backend.get_keras_mask(y)


def steps_mask(mask: Any, y: np.ndarray) -> np.ndarray | None:
    """Returns the mask of an output's steps as (batch, T) float32, or None.

    Raises
    ------
    ConfigError
        If Keras masks examples or places of images, which the loss does not support.
    """
    if mask is None or len(mask.shape) != y.ndim - 1:  # no mask, or one that Keras cannot use
        return None
    if y.ndim != 3:
        raise ConfigError(
            "KerasModel.make must give a model that masks nothing but steps of sequences, got a "
            f"mask {tuple(mask.shape)} of an output {y.shape}; take masked=False, and say what "
            'counts by a column "weights"'
        )
    import keras

    return np.asarray(keras.ops.convert_to_numpy(mask), np.float32)
