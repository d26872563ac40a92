"""A module of PyTorch as a network of sparkdl."""

from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Choice, Instance, Of, dataclass, option
from sparkdl.config.field_types import OptionalAnyOf, OptionalSeveral, Several
from sparkdl.errors import ConfigError
from sparkdl.interop.torch.array_shapes import ArrayShapes
from sparkdl.interop.torch.maker import MakerOption
from sparkdl.interop.torch.module_arrays import (
    build_module,
    first_values,
    kept,
    load_torch,
    output_shape,
    shapes_of,
    trained,
)
from sparkdl.nn.activations import ActivationFunction
from sparkdl.nn.hints import Shape, Shapes
from sparkdl.nn.inputs.example_shape import ExampleShape
from sparkdl.nn.inputs.labels import check_labels
from sparkdl.nn.layers import LossLayer
from sparkdl.nn.layers.core.weights import WeightedLayer
from sparkdl.nn.losses.base import Loss
from sparkdl.nn.networks.base import Conf
from sparkdl.nn.networks.placement import PlacedLayer
from sparkdl.nn.networks.sequential import NetworkConf

INPUT, MODULE, OUTPUT = "features", "module", "output"


@dataclass(frozen=True, kw_only=True)
class TorchModel(Conf):
    """A torch.nn.Module that is trained under any training master, like a network of ours.

    Its parameters and buffers live in the flat vectors that masters exchange; torch computes the
    module and its gradients, the engine the loss, the optimizer and what lies between workers. So
    averaging, all-reduce, servers, codecs, checkpoints, evaluation and `predict` are those of other
    networks. The optimizer, clipping and penalties are options here, not torch's.

    Executors need torch. The function `make` travels to them by cloudpickle; documents of models
    hold its name alone, so a process that loads one makes a TorchModel with the function first.
    torch's random numbers (dropout) are seeded for each batch by the seed, the epoch and the
    records, so that a fit repeats bit for bit. It computes on the CPU.

    Raises
    ------
    ConfigError
        `make` gives no module, or one with other arrays than float32; torch is missing.
    ShapeError
        The module cannot take the input, or gives no single float32 output.

    Examples
    --------
    >>> def lenet():                                                     # doctest: +SKIP
    ...     from torch import nn
    ...     return nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))
    >>> model = TorchModel(make=lenet, input_shape=(1, 28, 28), optimizer="adam")  # doctest: +SKIP
    >>> SparkNetwork(sc, model, AllReduceSGD()).fit(df, epochs=3)        # doctest: +SKIP
    """

    make: Any = option(
        MakerOption(),
        "Function without arguments that builds the module, on the driver and in each worker.",
    )
    input_shape: Several[int] = option(ExampleShape(), "Shape of one example.")
    input_type: str = option(
        Choice(of=("float32", "int64")),
        "Type of the module's input: float32, or int64 for ids of an embedding.",
        default="float32",
    )
    loss: OptionalAnyOf[Loss] = option(
        Of(family=Loss),
        "Loss of the module's output after `output_activation`. None: that of LossLayer.",
        default=None,
    )
    output_activation: OptionalAnyOf[ActivationFunction] = option(
        Of(family=ActivationFunction),
        "Makes predictions of what the module gives, which are logits where this is softmax or "
        "sigmoid. None: that of LossLayer.",
        default=None,
    )
    output_shape: OptionalSeveral[int] = option(
        ExampleShape(),
        "Shape of one example's output. None: that of the module, which is built to ask.",
        default=None,
    )
    parameters: Any = option(
        ArrayShapes(),
        "Names and shapes of what is trained. None: those of the module.",
        default=None,
    )
    buffers: Any = option(
        ArrayShapes(),
        "The same of what is kept but not trained: running means, frozen parameters.",
        default=None,
    )

    def validate(self) -> None:
        super().validate()
        if self.dtype != "float32" or self.tbptt is not None:
            raise ConfigError(
                f"TorchModel.dtype must be float32 and tbptt None, got {self.dtype!r} and "
                f"{self.tbptt}; narrow numbers are the module's own affair"
            )
        if None in (self.output_shape, self.parameters, self.buffers):
            module = build_module(self.make, self.seed)
            self._set("output_shape", output_shape(module, self.input_shape, self.input_type))
            self._set("parameters", shapes_of(trained(module)))
            self._set("buffers", shapes_of(kept(module)))
        self._set("loss", self.head.loss)
        check_labels(self)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def chosen(self) -> dict[str, Any]:
        return super().chosen() | {"make": self.make.reference}

    @property
    def replica_class(self) -> Any:
        load_torch()  # else importing the replica fails without a cure
        return import_module(f"{__package__}.torch_replica").TorchReplica

    @cached_property
    def head(self) -> NetworkConf:
        """What the engine computes: the loss of the module's output."""
        chosen = {"loss": self.loss, "activation": self.output_activation}
        given = {name: value for name, value in chosen.items() if value is not None}
        return NetworkConf(
            input_shape=self.output_shape, layers=[LossLayer(name=OUTPUT, **given)], seed=self.seed
        )

    @cached_property
    def stack(self) -> tuple[PlacedLayer, ...]:
        """The module, and the loss behind it."""
        layer = ModuleLayer(name=MODULE, model=self).inherit(self)
        module = PlacedLayer(0, layer, (INPUT,), self.input_shape, self.output_shape, MODULE)
        return module, self.head.main._replace(index=1, sources=(MODULE,))

    @property
    def input_shapes(self) -> Shapes:
        """{name of the input: shape of one example}"""
        return {INPUT: self.input_shape}


@dataclass(frozen=True, kw_only=True)
class ModuleLayer(WeightedLayer, abstract=True):
    """The module's place in a network: the names, shapes and first values of its arrays."""

    type_name: ClassVar[str] = "torch.nn.Module"
    inherited: ClassVar[tuple[str, ...]] = ("l1", "l2")
    biases: ClassVar[tuple[str, ...]] = ()

    model: Any = option(Instance(of=TorchModel, what="a TorchModel"), "The model that it is of.")

    @property
    def penalized(self) -> tuple[str, ...]:  # type: ignore[override]
        """Matrices and filters, not biases and factors."""
        return tuple(name for name, shape in self.model.parameters if len(shape) > 1)

    def out_shape(self, in_shape: Shape) -> Shape:
        return self.model.output_shape

    def param_shapes(self, in_shape: Shape) -> Shapes:
        return dict(self.model.parameters)

    def buffer_shapes(self, in_shape: Shape) -> Shapes:
        return dict(self.model.buffers)

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        return first_values(self.model.make, self.model.seed)[name]
