"""The configuration of a network whose layers follow one another."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from sparkdl.config import Of, Sequence, dataclass, option
from sparkdl.config.field_types import Several
from sparkdl.nn.hints import Shapes
from sparkdl.nn.inputs.example_shape import ExampleShape
from sparkdl.nn.inputs.labels import check_labels
from sparkdl.nn.inputs.tbptt import check_tbptt
from sparkdl.nn.layers import Layer
from sparkdl.nn.networks.base import Conf
from sparkdl.nn.networks.layer_sequence import (
    INPUT,
    arrange_layers,
    place_layers,
    without_automatic_names,
)

if TYPE_CHECKING:
    from sparkdl.nn.networks.placement import PlacedLayer


@dataclass(frozen=True, kw_only=True)
class NetworkConf(Conf):
    """A sequential network: layers one after another. Use a GraphConf for branches.

    JSON, YAML and dicts reproduce it exactly. A Flatten is inserted where images meet a layer that
    takes rows; layers without a name get one ("dense_1").

    Raises
    ------
    ConfigError
        For an option out of its range.
    ShapeError
        If a layer cannot take what the one before it gives.

    Examples
    --------
    >>> from sparkdl.nn import Dense, NetworkConf, Output
    >>> conf = NetworkConf(input_shape=(4,), layers=[
    ...     Dense(units=8, activation="relu"), Output(units=3)])
    >>> conf.parameter_count
    67
    >>> NetworkConf.from_yaml(conf.to_yaml()) == conf
    True
    """

    input_shape: Several[int] = option(
        ExampleShape(),
        "Shape of one example: rows, sequences, images or volumes. Batches may have sequences "
        "of other lengths.",
    )
    layers: Several[Layer] = option(
        Sequence(of=Of(family=Layer)),
        'Layers in order; only the last one is an output layer. {"type": "Dense", "units": 3} '
        "stands for a layer.",
    )

    def validate(self) -> None:
        super().validate()
        object.__setattr__(self, "layers", arrange_layers(self.layers, self.input_shape))
        check_tbptt(self)
        check_labels(self)

    @cached_property
    def stack(self) -> "tuple[PlacedLayer, ...]":
        """The layers in their places: a tuple of PlacedLayer."""
        return place_layers(self)

    @property
    def input_shapes(self) -> Shapes:
        """{name of the input: shape of one example}"""
        return {INPUT: self.input_shape}

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"layers": without_automatic_names(self.layers)}
