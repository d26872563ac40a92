"""A Keras model as a sparkdl network."""

from dataclasses import replace
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Boolean, Choice, Optional, dataclass, option
from sparkdl.interop.keras.live.load import BACKENDS, current_backend
from sparkdl.interop.keras.live.model_optimizer import WRITTEN, describe_optimizer
from sparkdl.interop.keras.live.outputs import masks_steps, output_shape
from sparkdl.interop.keras.live.variables import (
    build_model,
    first_values,
    kept,
    trained,
)
from sparkdl.interop.live.array_shapes import shapes_of
from sparkdl.interop.live.live_model import LiveModel
from sparkdl.interop.live.maker import MakerOption
from sparkdl.nn.networks.sequential import NetworkConf
from sparkdl.training.workers.fork_server.own_server import SERVER


@dataclass(frozen=True, kw_only=True)
class KerasModel(LiveModel):
    """A keras.Model that trains under any training master, like a sparkdl network.

    Its variables live in the flat vectors that masters exchange: trained ones as parameters,
    running means as buffers. Keras computes the model and its gradients, on JAX, TensorFlow or
    PyTorch; sparkdl computes the loss and the optimizer's steps, and connects the workers. The
    model's compile settings are ignored. The optimizer is sparkdl's, or Keras's with
    `keras_optimizer`.

    With a cross-entropy `loss` the model returns logits, and `output_activation` turns them into
    predictions. For image outputs (H, W, units), predictions and labels are (units, H, W), as with
    any sparkdl network; a model with data_format="channels_first" returns that shape itself.

    Executors need keras and its backend. They receive the function `make` by cloudpickle; saved
    models hold only its name. Dropout is seeded by the seed, the epoch and the records, so a fit is
    reproducible bit for bit. It computes on the CPU or, with device="cuda", on a GPU.

    Raises
    ------
    ConfigError
        `make` returns no model, or one whose variables are not float32; Keras or its backend is
        missing, or Keras is loaded on another backend.
    ShapeError
        The model cannot take the input, or does not return a single float32 output.

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
    optimizer_example: ClassVar[str] = WRITTEN

    make: Any = option(
        MakerOption(owner="KerasModel", builds="keras.Model"),
        "Function without arguments that builds the model, on the driver and in each worker.",
    )
    framework: str = option(
        Choice(of=("keras",)), "The framework, as documents name it.", default="keras"
    )
    backend: Any = option(
        Optional(of=Choice(of=BACKENDS)),
        "Keras's backend in each process: jax, tensorflow or torch. None: as on the driver, by "
        "KERAS_BACKEND, or the first of them that is installed. It is not saved: a network "
        "trained on one backend runs on any.",
        default=None,
    )
    keras_optimizer: Any = option(
        MakerOption(
            owner="KerasModel",
            builds="keras.optimizers.Optimizer",
            name="keras_optimizer",
            example=WRITTEN,
        ),
        "Function without arguments that builds a Keras optimizer, used instead of `optimizer`: "
        "`lambda: keras.optimizers.AdamW(1e-3)`. Its state is exchanged and saved like that of "
        "sparkdl's optimizers. `clipping` comes before its step; penalties are up to it, its "
        "learning rate is a number or a Keras schedule that sparkdl also has, and ParameterServer "
        "does not support it.",
        default=None,
    )

    masked: bool | None = option(
        Optional(of=Boolean()),
        "Whether the loss ignores steps that the model's own masks leave out "
        "(Embedding(mask_zero=True), Masking), and divides by the number of steps left in the "
        "minibatch, as Keras does. A batch's own mask takes precedence. None: if the model has "
        "such a mask at its output, for which it is built to find out; masks of anything but "
        "steps are then refused.",
        default=None,
    )

    def validate(self) -> None:
        if self.backend is None:
            self._set("backend", current_backend())
        of_steps = self.output_shape is not None and len(self.output_shape) == 2
        if of_steps and self.masked is None and self.make.code is not None:
            self.describe()
        super().validate()
        if self.backend != "tensorflow":  # which is not made to be forked
            SERVER.need(["keras"])

    @property
    def prefers_processor(self) -> bool:
        return True  # its backends are mostly installed without CUDA

    def chosen(self) -> dict[str, Any]:
        found = super().chosen()
        found.pop("backend", None)
        return found

    def describe(self) -> tuple[Any, Any, Any]:
        model = build_model(self.make, self.seed, self.backend)
        shape = output_shape(model, tuple(self.input_shape))
        if self.masked is None and len(shape) == 2:
            self._set("masked", masks_steps(model, tuple(self.input_shape), self.input_type))
        return shape, shapes_of(trained(model)), shapes_of(kept(model))

    @cached_property
    def head(self) -> NetworkConf:
        head = super().head
        if not self.masked:
            return head
        last: Any = head.layers[-1]
        return replace(head, layers=[*head.layers[:-1], replace(last, reduction="valid")])

    def first_values(self) -> dict[str, np.ndarray]:
        return self._first_values

    @cached_property
    def _first_values(self) -> dict[str, np.ndarray]:
        """Initial values from `make`, called once, as a file that it reads may change."""
        return first_values(self.make, self.seed, self.backend)

    def describe_optimizer(self) -> tuple[Any, Any]:
        return describe_optimizer(self.keras_optimizer, self.make, self.seed, self.backend)

    @property
    def replica_class(self) -> Any:
        return import_module(f"{__package__}.keras_replica").KerasReplica
