"""The configuration of a network whose layers follow one another."""

from dataclasses import dataclass, field
from functools import cached_property

from sparkdl.config import of
from sparkdl.errors import require
from sparkdl.nn.conf import SHAPES, Conf, is_example_shape
from sparkdl.nn.labels import check_labels
from sparkdl.nn.layers import Layer
from sparkdl.nn.stack import INPUT, arranged, placed, without_automatic_names
from sparkdl.nn.truncated import check_tbptt


@dataclass(frozen=True, kw_only=True)
class NetworkConf(Conf):
    """Layers, one after the other; a GraphConf is for those that branch and join.

    Equal to what its JSON, YAML or dict gives back. Where images meet a layer that takes rows, a
    Flatten is put in; layers without a name get one ("dense_1").

    Parameters
    ----------
    input_shape : tuple of int
        Of one example: rows (features,), sequences (steps, features), images (channels, height,
        width), volumes (channels, depth, height, width). Batches may have sequences of other
        lengths.
    layers : sequence of Layer
        The last one, and only it, is an Output. {"type": "Dense", "units": 3} stands for a layer.
    updater, l1, l2, clipping, initializer, activation, seed, dtype, tf32, tbptt
        See Conf.

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

    input_shape: tuple[int, ...]
    layers: tuple[Layer, ...] = field(metadata=of(Layer, many=True))

    def __post_init__(self):
        super().__post_init__()
        require(self, "input_shape", is_example_shape(self.input_shape), SHAPES)
        object.__setattr__(self, "layers", arranged(self.layers, self.input_shape))
        check_tbptt(self)
        check_labels(self)

    @cached_property
    def stack(self):
        """The layers in their places: a tuple of Placed."""
        return placed(self)

    @property
    def input_shapes(self):
        """{name of the input: shape of one example}"""
        return {INPUT: self.input_shape}

    def to_dict(self):
        return super().to_dict() | {"layers": without_automatic_names(self.layers)}
