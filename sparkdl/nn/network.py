"""The configuration of a network: what it is, and how its parameters are updated."""

from dataclasses import dataclass, field
from functools import cached_property

from sparkdl.errors import require
from sparkdl.nn import text
from sparkdl.nn.activations import ActivationFunction
from sparkdl.nn.checks import is_integer, is_integers, is_not_negative
from sparkdl.nn.clipping import Clipping
from sparkdl.nn.config import Config, of
from sparkdl.nn.initializers import Initializer
from sparkdl.nn.layers import Layer
from sparkdl.nn.layout import Layout
from sparkdl.nn.stack import arranged, placed, without_automatic_names
from sparkdl.nn.summary import summary
from sparkdl.nn.updaters import Sgd, Updater


@dataclass(frozen=True, kw_only=True)
class NetworkConf(Config):
    """Layers, one after the other.

    Equal to what its JSON, YAML or dict gives back. Where images meet a layer that takes rows, a
    Flatten is put in; layers without a name get one ("dense_1").

    Parameters
    ----------
    input_shape : tuple of int
        Of one example: images (channels, height, width) or rows (features,).
    layers : sequence of Layer
        The last one, and only it, is an Output. {"type": "Dense", "units": 3} stands for a layer.
    updater : Updater
    l1, l2 : float
        Of layers that give none: l1 |w| + l2 w^2 / 2 is added to what is minimised; at least 0.
    clipping : Clipping, optional
        What is done with large gradients.
    initializer, activation : str, dict or member
        Of layers that give none.
    seed : int
        Of all random numbers: first values, dropout; in [0, 2^63).
    dtype : str
        "float32": what the network computes in.

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
    updater: Updater = field(default=Sgd(rate=0.01), metadata=of(Updater))
    l1: float = 0.0
    l2: float = 0.0
    clipping: Clipping | None = field(default=None, metadata=of(Clipping))
    initializer: Initializer = field(default="xavier", metadata=of(Initializer))
    activation: ActivationFunction = field(default="identity", metadata=of(ActivationFunction))
    seed: int = 0
    dtype: str = "float32"

    def __post_init__(self):
        super().__post_init__()
        holds = is_integers(self.input_shape, 1) and len(self.input_shape) in (1, 3)
        require(self, "input_shape", holds, "(features,) or (channels, height, width), each >= 1")
        for name in ("l1", "l2"):
            require(self, name, is_not_negative(getattr(self, name)), "a number >= 0")
        seed = is_integer(self.seed, 0) and self.seed < 2**63
        require(self, "seed", seed, "an integer in [0, 2^63)")
        require(self, "dtype", self.dtype == "float32", "'float32'")
        object.__setattr__(self, "layers", arranged(self.layers, self.input_shape))

    @cached_property
    def stack(self):
        """The layers in their places: a tuple of Placed (index, layer, in_shape, out_shape)."""
        return placed(self)

    @property
    def output(self):
        """The last layer."""
        return self.layers[-1]

    @property
    def loss(self):
        """The loss of the last layer."""
        return self.output.loss

    @cached_property
    def params_layout(self):
        """Where each parameter lies in the parameter vector."""
        return Layout(entries(self.stack, "param_shapes"))

    @cached_property
    def buffers_layout(self):
        """Where each buffer lies in the buffer vector."""
        return Layout(entries(self.stack, "buffer_shapes"))

    @cached_property
    def slots_layout(self):
        """Where each slot of the updater lies in the slot vector; a slot is as long as `params`."""
        length = (self.params_layout.size,)
        return Layout(tuple((name, length) for name in self.updater.slot_names))

    @property
    def parameter_count(self):
        """How many numbers are trained."""
        return self.params_layout.size

    def summary(self, batch_size=64):
        """A table of layers, shapes and parameters, and the memory of a step, as text."""
        return summary(self, batch_size)

    def to_dict(self):
        return super().to_dict() | {"layers": without_automatic_names(self.layers)}

    def to_json(self):
        """The options that differ from their defaults, as JSON."""
        return text.to_json(self.to_dict())

    @classmethod
    def from_json(cls, document):
        """The network that `to_json` wrote; ConfigError where it is not one."""
        return cls.from_dict(text.from_json(document))

    def to_yaml(self):
        """The options that differ from their defaults, as YAML, a layer a line."""
        return text.to_yaml(self.to_dict())

    @classmethod
    def from_yaml(cls, document):
        """The network that `to_yaml` wrote; ConfigError where it is not one."""
        return cls.from_dict(text.from_yaml(document))


def entries(stack, kind):
    """("layer/array", shape) of all arrays of one kind."""
    return tuple(
        (f"{place.name}/{name}", shape)
        for place in stack
        for name, shape in getattr(place, kind).items()
    )
