"""Base of both network configurations: training options, and layouts of the flat vectors."""

from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from sparkdl.config import (
    Boolean,
    Choice,
    Config,
    Integer,
    Number,
    Of,
    Sequence,
    dataclass,
    option,
    text,
)
from sparkdl.config.field_types import AnyOf, OptionalAnyOf, SeveralAnyOf
from sparkdl.engine.dtypes import is_narrow
from sparkdl.errors import ConfigError, brief
from sparkdl.nn.activations import ActivationFunction
from sparkdl.nn.clipping import Clipping
from sparkdl.nn.constraints import Constraint
from sparkdl.nn.hints import Shape, Shapes
from sparkdl.nn.initializers import Initializer
from sparkdl.nn.inputs.columns import masks_of_features, masks_of_labels
from sparkdl.nn.layout import Layout
from sparkdl.nn.losses.base import Loss
from sparkdl.nn.networks.summary import summary
from sparkdl.nn.optimization import loss_scale
from sparkdl.nn.optimization.optimizer_groups import optimizer_groups, rate_at, slots_layout
from sparkdl.nn.optimizers import Optimizer, Sgd

if TYPE_CHECKING:
    from sparkdl.nn.networks.placement import PlacedLayer
    from sparkdl.nn.tables.embedding_bag import EmbeddingBag


DTYPES = ("float32", "bfloat16", "float16")
# Fields of both kinds of network that define its layers.
LAYOUT = ("input_shape", "layers", "inputs", "vertices", "bags")


@dataclass(frozen=True, kw_only=True)
class Conf(Config):
    """Base of NetworkConf and GraphConf."""

    optimizer: AnyOf[Optimizer] = option(
        Of(family=Optimizer), "Optimizer of the parameters.", default=Sgd(learning_rate=0.01)
    )
    l1: float = option(
        Number(minimum=0),
        "L1 penalty of layers without their own: l1 |w| is added to the loss.",
        default=0.0,
    )
    l2: float = option(
        Number(minimum=0),
        "L2 penalty of layers without their own: l2 w^2 / 2 is added to the loss.",
        default=0.0,
    )
    clipping: OptionalAnyOf[Clipping] = option(
        Of(family=Clipping), "Gradient clipping.", default=None
    )
    constraints: SeveralAnyOf[Constraint] = option(
        Sequence(of=Of(family=Constraint)),
        "Constraints on the weights of layers without their own.",
        default=(),
    )
    initializer: AnyOf[Initializer] = option(
        Of(family=Initializer),
        "Initializer of the weights of layers without their own.",
        default="xavier",
    )
    activation: AnyOf[ActivationFunction] = option(
        Of(family=ActivationFunction),
        "Activation function of layers without their own.",
        default="identity",
    )
    seed: int = option(
        Integer(minimum=0, below=2**63),
        "Seed of all random numbers: initial weights, dropout.",
        default=0,
    )
    dtype: str = option(
        Choice(of=DTYPES),
        "Mixed precision: type of activations and matrix products, with low precision only in "
        "layers that support it (`Layer.low_precision`). Parameters, gradients and the optimizer "
        "stay float32. float16 is for GPUs: the loss is scaled, and updates with a non-finite "
        "gradient are skipped; see loss_scale.py.",
        default="float32",
    )
    tf32: bool = option(
        Boolean(),
        "Whether a GPU may use TF32 tensor cores, which round the factors of float32 products "
        "and convolutions to 11 bits: several times faster. bfloat16 and float16 networks always "
        "allow it where layers compute in float32. No effect on a CPU.",
        default=False,
    )
    tbptt: tuple[int, int] | None = option(
        Sequence(of=Integer(minimum=1), length=2),
        "Truncated backpropagation through time: sequences are cut into chunks, with an update "
        "after each. The first number is the length of a chunk in steps; the second is the "
        "number of a chunk's last steps through which gradients flow back. State is carried from "
        "chunk to chunk.",
        default=None,
    )

    def __getstate__(self) -> dict[str, Any]:
        """Returns the options alone: cached values are recomputed."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @property
    def prefers_processor(self) -> bool:
        """Whether device "auto" means the processor even if there is a GPU."""
        return False

    @property
    def may_round_factors(self) -> bool:
        """Whether a GPU may round the factors of float32 products."""
        return self.tf32 or is_narrow(self.dtype)

    @property
    def replica_class(self) -> Any:
        """The replica class of a network that another framework computes; None: Replica."""
        return None

    @property
    def has_own_optimizer(self) -> bool:
        """Whether another framework's optimizer trains the network."""
        return False

    @property
    def keeps_constants(self) -> bool:
        """Whether buffers may be constants with infinite values, such as masks."""
        return False

    @property
    def stack(self) -> "tuple[PlacedLayer, ...]":
        """The placed layers, each after what it reads: a tuple of PlacedLayer."""
        raise NotImplementedError

    @property
    def input_shapes(self) -> Shapes:
        """{name of an input: shape of one example}"""
        raise NotImplementedError

    @cached_property
    def outputs(self) -> "tuple[PlacedLayer, ...]":
        """The placed layers that have a loss."""
        return tuple(place for place in self.stack if place.is_output)

    @property
    def outputs_with_labels(self) -> "tuple[PlacedLayer, ...]":
        """The placed outputs for which the data has labels."""
        return tuple(place for place in self.outputs if place.layer.reads_labels)

    @cached_property
    def feature_columns(self) -> dict[str, str]:
        """{column of a batch: the input that it feeds}; "features" if there is one input."""
        names = list(self.input_shapes)
        return {"features": names[0]} if len(names) == 1 else {name: name for name in names}

    @property
    def record_shapes(self) -> Shapes:
        """{column of the data: shape of one example}, for the columns that feed the inputs."""
        shapes = self.input_shapes
        return {column: shapes[name] for column, name in self.feature_columns.items()}

    @property
    def id_columns(self) -> frozenset[str]:
        """The columns of the data with ids of tables."""
        return frozenset()

    @property
    def integer_columns(self) -> frozenset[str]:
        """The columns of the data with integers, which reach the network as int64."""
        return frozenset()

    @property
    def bags(self) -> "tuple[EmbeddingBag, ...]":
        """The inputs that are computed from rows of tables."""
        return ()

    @property
    def bag_columns(self) -> dict[str, str]:
        """{name of a bag: column that feeds it to a program}"""
        return {}

    @cached_property
    def label_columns(self) -> "dict[str, PlacedLayer]":
        """{column of a batch: the first placed output that reads it as labels}"""
        columns: dict[str, PlacedLayer] = {}
        for place in self.outputs_with_labels:
            columns.setdefault(self.label_column(place), place)
        return columns

    @cached_property
    def feature_masks(self) -> dict[str, str]:
        """{column of features with a time axis: column of its mask}"""
        return masks_of_features(self)

    @cached_property
    def label_masks(self) -> dict[str, str]:
        """{column of labels with a time axis: column of its mask}"""
        return masks_of_labels(self)

    def label_column(self, place: "PlacedLayer") -> Any:
        """Returns the batch column with the labels of an output; see ScoredLayer.labels.

        Returns None for an output that is compared with another value of the network.
        """
        if not place.layer.reads_labels:
            return None
        return place.layer.labels or (
            "labels" if len(self.outputs_with_labels) == 1 else place.name
        )

    @property
    def output(self) -> Any:
        """The layer whose output is the prediction."""
        return self.main.layer

    @property
    def output_size(self) -> int:
        """The classes, or numbers per label, of the predicting layer."""
        return self.main.units

    @property
    def loss(self) -> Loss:
        """The loss of the predicting layer."""
        return self.output.loss

    @property
    def main(self) -> "PlacedLayer":
        """The placed output that predicts: the first one with the largest loss weight."""
        if not self.outputs:
            raise nothing_to_train(self)
        return max(self.outputs, key=lambda place: place.layer.loss_weight)

    def output_named(self, name: str | None) -> "PlacedLayer":
        """Returns the placed output with labels that has this name; None: the one that predicts.

        The name is that of the layer, or the one in `outputs_by_name`. Raises ConfigError for
        another.
        """
        if name is None:
            return self.main
        known = {place.name: place for place in self.outputs_with_labels} | self.outputs_by_name
        if not isinstance(name, str) or name not in known:
            known = self.outputs_by_name
            raise ConfigError(f"output must be one of {list(known)} or None, got {brief(name)}")
        return known[name]

    @cached_property
    def outputs_by_name(self) -> "dict[str, PlacedLayer]":
        """{name in figures: placed output with labels}.

        The loss layer "size/loss", which readers of other systems' models add to their output
        "size", is "size".
        """
        places = self.outputs_with_labels
        taken = [place.name for place in places]
        short = [name.removesuffix("/loss") for name in taken]
        names = [
            one if one not in taken and short.count(one) == 1 else name
            for one, name in zip(short, taken, strict=True)
        ]
        return dict(zip(names, places, strict=True))

    @cached_property
    def params_layout(self) -> Layout:
        """The layout of the parameter vector."""
        return Layout(entries(self.stack, "param_shapes"))

    @cached_property
    def buffers_layout(self) -> Layout:
        """The layout of the buffer vector."""
        scale = loss_scale.BUFFERS if self.dtype == loss_scale.FLOAT16 else ()
        return Layout(entries(self.stack, "buffer_shapes") + scale)

    @cached_property
    def slots_layout(self) -> Layout:
        """The layout of the vector of optimizer slots."""
        layout = slots_layout(self.groups)
        if self.dtype == loss_scale.FLOAT16:
            return Layout(layout.entries + loss_scale.SLOTS)
        return layout

    @cached_property
    def groups(self) -> Any:
        """Slices of the parameter vector, one per optimizer; usually one in all."""
        return optimizer_groups(self)

    def rate_at(self, iteration: float, epoch: float) -> float:
        """Returns the learning rate of update number `iteration`, counted from 0.

        With several groups it is a vector with one rate per group.
        """
        return rate_at(self.groups, iteration, epoch)

    @cached_property
    def state_shapes(self) -> Shapes:
        """{"layer/name": shape for one example} of the states of recurrent layers."""
        return dict(entries(self.stack, "state_shapes"))

    @property
    def parameter_count(self) -> int:
        """The number of trained parameters."""
        return self.params_layout.size

    def summary(self, batch_size: int = 64) -> str:
        """Returns a table of layers, shapes, parameters and the memory of a step as text."""
        return summary(self, batch_size)

    def _repr_html_(self) -> str:
        from sparkdl.nn.networks.notebook import conf_html  # only notebooks call this

        return conf_html(self)

    def to_json(self) -> str:
        """Returns the options that differ from their defaults, as JSON."""
        return text.to_json(self.to_dict())

    @classmethod
    def from_json(cls, document: str) -> Self:
        """Returns the network written by `to_json`; raises ConfigError for other text."""
        return cls.from_dict(text.from_json(document))

    def to_yaml(self) -> str:
        """Returns the options that differ from their defaults as YAML, one layer per line."""
        return text.to_yaml(self.to_dict())

    @classmethod
    def from_yaml(cls, document: str) -> Self:
        """Returns the network written by `to_yaml`; raises ConfigError for other text."""
        return cls.from_dict(text.from_yaml(document))


def entries(stack: "tuple[PlacedLayer, ...]", kind: str) -> tuple[tuple[str, Shape], ...]:
    """Returns ("layer/array", shape) of all arrays of one kind."""
    return tuple(
        (f"{place.name}/{name}", shape)
        for place in stack
        for name, shape in getattr(place, kind).items()
    )


def nothing_to_train(conf: Conf) -> ConfigError:
    """Returns the error for a network without an output layer."""
    return ConfigError(
        f"{type(conf).__name__} has no output layer, so nothing to train; end it with an Output "
        "or a LossLayer, which sparkdl.replace_output adds to a Network"
    )
