"""A model of another framework as a sparkdl network."""

from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Choice, Instance, Member, Of, dataclass, option
from sparkdl.config.field_types import OptionalAnyOf, OptionalSeveral, Several
from sparkdl.errors import ConfigError, brief
from sparkdl.interop.live.array_shapes import ArrayShapes
from sparkdl.interop.live.output_activation import layers_before
from sparkdl.interop.live.padding import check_padding, takes_steps
from sparkdl.nn.activations import ActivationFunction
from sparkdl.nn.hints import Shape, Shapes
from sparkdl.nn.inputs.columns import mask_of
from sparkdl.nn.inputs.example_shape import ExampleShape
from sparkdl.nn.inputs.labels import check_labels
from sparkdl.nn.layers import LossLayer
from sparkdl.nn.layers.core.weights import WeightedLayer
from sparkdl.nn.layout import Layout
from sparkdl.nn.losses.base import Loss
from sparkdl.nn.networks.base import Conf
from sparkdl.nn.networks.placement import PlacedLayer
from sparkdl.nn.networks.sequential import NetworkConf
from sparkdl.nn.optimizers import Sgd
from sparkdl.nn.schedules import Schedule

INPUT, MODULE, OUTPUT = "features", "module", "output"


@dataclass(frozen=True, kw_only=True)
class LiveModel(Conf):
    """Base of TorchModel and KerasModel, which add `make` and `framework`, the tag in documents.

    A subclass defines `describe`, `first_values` and `replica_class`.
    """

    builds: ClassVar[str]  # class name for messages
    optimizer_option: ClassVar[str]  # option with the maker of a framework's optimizer
    optimizer_example: ClassVar[str]  # value of that option as code, for errors

    input_shape: Several[int] = option(ExampleShape(), "Shape of one example.")
    input_type: str = option(
        Choice(of=("float32", "int64")),
        "Type of the model's input: float32, or int64 for ids of an embedding, which may have "
        "any integer type in the data.",
        default="float32",
    )
    padding: str = option(
        Choice(of=("refused", "zeros")),
        'Handling of sequences with fewer steps than `input_shape`. "refused": an error. '
        '"zeros": zeros at the end, which the model must recognize as padding; it receives no '
        "mask. The loss ignores padding.",
        default="refused",
    )
    loss: OptionalAnyOf[Loss] = option(
        Of(family=Loss),
        "Loss of the model's output, after `output_activation`. None: that of LossLayer.",
        default=None,
    )
    output_activation: OptionalAnyOf[ActivationFunction] = option(
        Of(family=ActivationFunction),
        "Activation that turns the model's output into predictions, on which the loss is "
        "computed. A loss with a built-in activation, as softmax_cross_entropy has softmax, "
        "takes only that one or None: the model then returns logits. None: the loss's own, if it "
        "has one.",
        default=None,
    )
    output_shape: OptionalSeveral[int] = option(
        ExampleShape(),
        "Shape of one example's output. None: that of the model, which is built to find out.",
        default=None,
    )
    parameters: Any = option(
        ArrayShapes(),
        "Names and shapes of the trained arrays. None: those of the model.",
        default=None,
    )
    buffers: Any = option(
        ArrayShapes(),
        "Names and shapes of arrays that are kept but not trained: running means, frozen "
        "parameters.",
        default=None,
    )
    optimizer_state: Any = option(
        ArrayShapes(),
        "Names and shapes of the state of the framework's own optimizer, if that trains. None: "
        "it is built to find out.",
        default=None,
    )

    @classmethod
    def expand_shorthands(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Returns the options; raises ConfigError if `optimizer` is the framework's."""
        given = options.get("optimizer")
        if is_foreign(given, cls.optimizer_option.partition("_")[0]):
            raise ConfigError(
                f"{cls.__name__}.optimizer must be an optimizer of sparkdl, got {brief(given)}; "
                f"write {cls.optimizer_option}={cls.optimizer_example}"
            )
        return super().expand_shorthands(options)

    def describe(self) -> tuple[Shape, Any, Any]:
        """Builds a model; returns its (output shape, parameters, buffers)."""
        raise NotImplementedError

    def first_values(self) -> dict[str, np.ndarray]:
        """Returns {name: initial value} of the model's arrays."""
        raise NotImplementedError

    def describe_optimizer(self) -> tuple[float | Schedule, Any]:
        """Builds the framework's optimizer; returns its properties.

        They are (learning rate, ((name, shape), ...) of the state).
        """
        raise NotImplementedError

    @property
    def own_optimizer(self) -> Any:
        """The Maker of the framework's optimizer, or None if a sparkdl optimizer is used."""
        return getattr(self, self.optimizer_option)

    @property
    def has_own_optimizer(self) -> bool:
        return self.own_optimizer is not None

    @property
    def keeps_constants(self) -> bool:
        return True

    @property
    def base_rate(self) -> float:
        """The learning rate with which the framework's optimizer is built; each step sets its own.

        It is 1 if the rate is a schedule.
        """
        rate = self.optimizer.learning_rate
        return 1.0 if isinstance(rate, Schedule) else rate

    def validate(self) -> None:
        super().validate()
        if self.dtype != "float32" or self.tbptt is not None:
            raise ConfigError(
                f"{type(self).__name__}.dtype must be float32 and tbptt None, got {self.dtype!r} "
                f"and {self.tbptt}; set lower precision in the model itself"
            )
        check_padding(self)
        names = ("output_shape", "parameters", "buffers")
        if None in (self.output_shape, self.parameters, self.buffers):
            for name, value in zip(names, self.describe(), strict=True):
                self._set(name, value)
        self._set("loss", self.head.loss)
        check_labels(self)
        if self.has_own_optimizer:
            self._take_optimizer()
            self._check_options_without_effect()

    def _take_optimizer(self) -> None:
        """Takes over the optimizer's learning rate, for histories, and the layout of its state.

        If the function is known, it is called each time, as it may have been replaced.
        """
        rate, state = getattr(self.optimizer, "learning_rate", None), self.optimizer_state
        if self.own_optimizer.code is not None or state is None:
            rate, state = self.describe_optimizer()
        rate = self._scheduled(rate)
        if self.optimizer not in (Conf.optimizer, Sgd(learning_rate=rate)):
            raise ConfigError(
                f"{type(self).__name__}.optimizer must be left out with {self.optimizer_option}, "
                f"got {self.optimizer!r}; make a new {type(self).__name__}"
            )
        self._set("optimizer", Sgd(learning_rate=rate))
        self._set("optimizer_state", state)

    def _scheduled(self, rate: float | Schedule) -> float | Schedule:
        """Returns the learning rate, which another option may override."""
        return rate

    def _check_options_without_effect(self) -> None:
        """Raises ConfigError for options that a framework's optimizer does not support."""
        for name, nothing in (("l1", 0), ("l2", 0), ("constraints", ())):
            if getattr(self, name) != nothing:
                raise ConfigError(
                    f"{type(self).__name__}.{name} must be {nothing!r} with "
                    f"{self.optimizer_option}, got {getattr(self, name)!r}; set it in the "
                    "optimizer, or use an optimizer of sparkdl"
                )

    @cached_property
    def slots_layout(self) -> Layout:
        if not self.has_own_optimizer:
            return super().slots_layout
        return Layout(tuple((f"{MODULE}/{name}", shape) for name, shape in self.optimizer_state))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def chosen(self) -> dict[str, Any]:
        live: Any = self
        chosen = super().chosen() | {"make": live.make.reference, "framework": live.framework}
        if self.has_own_optimizer:
            chosen[self.optimizer_option] = self.own_optimizer.reference
        return chosen

    @cached_property
    def head(self) -> NetworkConf:
        """The network computed by the engine: the loss of the model's output."""
        given = {} if self.loss is None else {"loss": self.loss}
        output = LossLayer(name=OUTPUT, **given)
        head = NetworkConf(input_shape=self.output_shape, layers=[output], seed=self.seed)
        before = layers_before(output, self.output_activation, self.output_shape, self)
        return replace(head, layers=[*before, output]) if before else head

    @cached_property
    def stack(self) -> tuple[PlacedLayer, ...]:
        """The model, followed by the loss."""
        layer = ModuleLayer(name=MODULE, model=self).inherit(self)
        module = PlacedLayer(0, layer, (INPUT,), self.input_shape, self.output_shape, MODULE)
        return module, self.head.main._replace(index=1, sources=(MODULE,))

    @cached_property
    def feature_masks(self) -> dict[str, str]:
        """See Conf; ids of steps have a mask if they may be padded."""
        return {INPUT: mask_of(INPUT)} if takes_steps(self) else {}

    @property
    def integer_columns(self) -> frozenset[str]:
        return frozenset({INPUT} if self.input_type == "int64" else ())

    @property
    def input_shapes(self) -> Shapes:
        """{name of the input: shape of one example}"""
        return {INPUT: self.input_shape}


def is_foreign(given: Any, framework: str) -> bool:
    """Returns whether an object or class is the framework's, or a function of the user's."""
    kind = given if isinstance(given, type) else type(given)
    if issubclass(kind, Member):
        return False
    return callable(given) or any(k.__module__.partition(".")[0] == framework for k in kind.__mro__)


@dataclass(frozen=True, kw_only=True)
class ModuleLayer(WeightedLayer, abstract=True):
    """The model as a layer: names, shapes and initial values of its arrays."""

    inherited: ClassVar[tuple[str, ...]] = ("l1", "l2")
    biases: ClassVar[tuple[str, ...]] = ()

    model: Any = option(Instance(of=LiveModel, what="a live model"), "The model that it is of.")

    @property
    def type_name(self) -> str:  # type: ignore[override]
        return self.model.builds

    @property
    def penalized(self) -> tuple[str, ...]:  # type: ignore[override]
        """Matrices and filters, but not biases and factors."""
        return tuple(name for name, shape in self.model.parameters if len(shape) > 1)

    def out_shape(self, in_shape: Shape) -> Shape:
        return self.model.output_shape

    def param_shapes(self, in_shape: Shape) -> Shapes:
        return dict(self.model.parameters)

    def buffer_shapes(self, in_shape: Shape) -> Shapes:
        return dict(self.model.buffers)

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        return self.model.first_values()[name]
