"""The variables of a Keras model: what is trained, what is kept, and seeds."""

from functools import lru_cache
from typing import Any

import numpy as np

from sparkdl.errors import ConfigError, ShapeError, brief
from sparkdl.interop.keras.live.load import load_keras


def build_model(maker: Any, seed: int, backend: str | None = None) -> Any:
    """Returns a new model whose first values follow from `seed`.

    Raises
    ------
    ConfigError
        It is no built Model, has variables that cannot be trained here, or losses of its own.
    """
    keras = load_keras(backend)
    keras.utils.set_random_seed(seed % 2**32)
    with keras.device("cpu"):
        model = maker()
    if not isinstance(model, keras.Model) or not model.built:
        raise ConfigError(
            f"KerasModel.make must return a keras.Model whose shapes are known, got {brief(model)} "
            f"from {maker}; begin it with keras.Input"
        )
    for variable in (*model.trainable_variables, *model.non_trainable_variables):
        if variable.dtype != "float32" and not is_seed(variable):
            raise ConfigError(
                f"KerasModel.make must give variables of float32, got {variable.path} of "
                f"{variable.dtype}"
            )
    refuse_losses(model.losses)
    return model


def refuse_losses(losses: Any) -> None:
    """Raises ConfigError where layers add losses: the engine computes the loss, without them."""
    if losses:
        raise ConfigError(
            f"KerasModel.make must give a model whose layers add no losses, got {len(losses)} of "
            "regularizers or add_loss; KerasModel.l2 and l1 penalize weights"
        )


def is_seed(variable: Any) -> bool:
    """Whether a variable is the state of random numbers."""
    return "int" in variable.dtype and variable.name == "seed_generator_state"


def trained(model: Any) -> list[tuple[str, Any]]:
    """Returns [(name, variable)] of what is trained.

    Names are numbered: those that Keras makes up differ from one building to the next.
    """
    return [(f"{i}_{v.name}", v) for i, v in enumerate(model.trainable_variables)]


def kept(model: Any) -> list[tuple[str, Any]]:
    """Returns [(name, variable)] of what is not trained: running means, frozen weights."""
    found = [v for v in model.non_trainable_variables if not is_seed(v)]
    return [(f"kept_{i}_{v.name}", v) for i, v in enumerate(found)]


def to_numpy(variable: Any) -> np.ndarray:
    """Returns a copy of a variable's value."""
    import keras

    return np.array(keras.ops.convert_to_numpy(variable.value))


def shapes_of(variables: list[tuple[str, Any]]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((name, tuple(variable.shape)) for name, variable in variables)


@lru_cache(maxsize=2)
def first_values(maker: Any, seed: int, backend: str | None) -> dict[str, np.ndarray]:
    """Returns {name: first value} of a model's variables."""
    model = build_model(maker, seed, backend)
    return {n: to_numpy(v) for n, v in (*trained(model), *kept(model))}


def output_shape(model: Any, input_shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape of one example's output.

    Raises
    ------
    ShapeError
        It cannot take the input, or does not give one float32 array with the batch in front.
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
    return tuple(shape[1:])
