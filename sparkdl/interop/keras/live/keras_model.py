"""A model of Keras as a network of sparkdl."""

from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Choice, Optional, dataclass, option
from sparkdl.interop.keras.live.load import BACKENDS, current_backend
from sparkdl.interop.keras.live.model_optimizer import describe_optimizer
from sparkdl.interop.keras.live.variables import (
    build_model,
    first_values,
    kept,
    output_shape,
    shapes_of,
    trained,
)
from sparkdl.interop.live.live_model import LiveModel
from sparkdl.interop.live.maker import MakerOption


@dataclass(frozen=True, kw_only=True)
class KerasModel(LiveModel):
    """A keras.Model that is trained under any training master, like a network of ours.

    Its variables live in the flat vectors that masters exchange: those that are trained, and
    running means as buffers. Keras computes the model and its gradients, on JAX, TensorFlow or
    PyTorch, the engine the loss, the optimizer and what lies between workers; how the model was
    compiled is left alone. The optimizer is one of ours, or one of Keras's by `keras_optimizer`.

    The model gives logits where `loss` is a cross-entropy: `output_activation` makes predictions of
    them. Executors need keras and its backend. The function `make` travels to them by cloudpickle;
    documents hold its name alone. Seeds of dropout follow from the seed, the epoch and the records,
    so that a fit repeats bit for bit. It computes on the CPU.

    Raises
    ------
    ConfigError
        `make` gives no model, or one with other variables than float32; Keras or its backend is
        missing, or loaded on another.
    ShapeError
        The model cannot take the input, or gives no single float32 output.

    Examples
    --------
    >>> def make():                                                      # doctest: +SKIP
    ...     import keras
    ...     return keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    >>> model = KerasModel(make=make, input_shape=(4,), optimizer="adam")  # doctest: +SKIP
    >>> SparkNetwork(sc, model, AllReduceSGD()).fit(df, epochs=3)        # doctest: +SKIP
    """

    builds: ClassVar[str] = "keras.Model"
    optimizer_option: ClassVar[str] = "keras_optimizer"

    make: Any = option(
        MakerOption(owner="KerasModel", builds="keras.Model"),
        "Function without arguments that builds the model, on the driver and in each worker.",
    )
    framework: str = option(
        Choice(of=("keras",)), "The framework, as documents name it.", default="keras"
    )
    backend: Any = option(
        Optional(of=Choice(of=BACKENDS)),
        "What Keras computes on in each process: jax, tensorflow or torch. None: as on the driver, "
        "where KERAS_BACKEND says it, or the first of them that is installed. Documents leave it "
        "out: a network that was trained on one is used on any.",
        default=None,
    )
    keras_optimizer: Any = option(
        MakerOption(
            owner="KerasModel", builds="keras.optimizers.Optimizer", name="keras_optimizer"
        ),
        "Function without arguments that builds an optimizer of Keras, in place of `optimizer`: "
        "`lambda: keras.optimizers.AdamW(1e-3)`. Its state travels and is saved as that of ours "
        "is. Penalties and clipping are then its own affair, its learning rate is a number or a "
        "schedule of Keras's that sparkdl has too, and no ParameterServer trains with it.",
        default=None,
    )

    def validate(self) -> None:
        if self.backend is None:
            self._set("backend", current_backend())
        super().validate()

    def chosen(self) -> dict[str, Any]:
        found = super().chosen()
        found.pop("backend", None)
        return found

    def describe(self) -> tuple[Any, Any, Any]:
        model = build_model(self.make, self.seed, self.backend)
        shape = output_shape(model, self.input_shape)
        return shape, shapes_of(trained(model)), shapes_of(kept(model))

    def first_values(self) -> dict[str, np.ndarray]:
        return first_values(self.make, self.seed, self.backend)

    def describe_optimizer(self) -> tuple[Any, Any]:
        return describe_optimizer(self.keras_optimizer, self.make, self.seed, self.backend)

    @property
    def replica_class(self) -> Any:
        return import_module(f"{__package__}.keras_replica").KerasReplica
