"""Records of one pass of a batch through a layer: its context, and its further results."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from zlib import crc32

from sparkdl.engine import ops
from sparkdl.errors import ConfigError
from sparkdl.nn.hints import Shape, Value


@dataclass(frozen=True, kw_only=True)
class Run:
    """One pass of one batch, as one layer sees it.

    Parameters
    ----------
    training : bool
        Whether dropout drops and batch normalization uses the batch's own statistics.
    buffers, states : dict of float arrays or Tensors
        State of this layer that is not trained; state of a recurrent layer at the first step,
        (batch, ...) each, empty where it starts from zeros.
    seed, stream : int
        The network's seed, and the index of this layer.
    ids : (batch,) uint64, or None
        Places of the examples in the data set: what random numbers depend on.
    epoch : int scalar
    masks : tuple of (batch, T) float or None
        For each input that is a sequence, 1 where there is a step and 0 where there is padding.
    labels : array, Tensor or None
        What an output layer is compared with, while training.
    backward_steps : int or None
        How many of the last steps of a sequence gradients go back through; all unless given.
    """

    training: bool
    seed: int
    ids: Any = None
    epoch: Any = 0
    stream: int = 0
    buffers: dict = field(default_factory=dict)
    states: dict = field(default_factory=dict)
    masks: tuple = ()
    labels: Any = None
    backward_steps: int | None = None
    results: "LayerResults" = field(default_factory=lambda: LayerResults())

    def of_layer(self, stream: int, **seen: Any) -> "Run":
        """Returns this pass as another layer sees it."""
        return replace(self, stream=stream, results=LayerResults(), **seen)

    @property
    def mask(self) -> Value:
        """The mask of the first input, or None."""
        return self.masks[0] if self.masks else None

    @property
    def updates(self) -> dict[str, Any]:
        """{buffer: next value} of those that the layer has changed."""
        return self.results.updates

    def update(self, name: str, value: Any) -> None:
        """Gives a buffer its next value."""
        if name not in self.buffers:
            raise KeyError(f"no buffer {name!r}; the layer has {sorted(self.buffers)}")
        self.results.updates[name] = value

    def state(self, name: str) -> Value:
        """Returns the initial state (batch, ...) of a recurrent layer; None for zeros."""
        return self.states.get(name)

    def carry(self, name: str, value: Any) -> None:
        """Leaves the state behind that a next batch may go on from."""
        self.results.states[name] = value

    def mask_output(self, mask: Value) -> None:
        """Gives the output this mask (batch, T), whatever the input had."""
        self.results.masks[:] = [mask]

    def add_loss(self, values: Value) -> None:
        """Adds `values` (batch,) to the examples' losses while training."""
        self.results.losses.append(values)

    def uniform(self, shape: Shape) -> Value:
        """Returns (batch, *shape) float32 in [0, 1).

        They are a function of seed, layer, example, epoch and element.
        """
        return self.draw(ops.uniform, shape)

    def normal(self, shape: Shape) -> Value:
        """Returns (batch, *shape) float32 normal numbers, a function of the same."""
        return self.draw(ops.normal, shape)

    def draw(self, draw: Callable[..., Value], shape: Shape) -> Value:
        """Returns (batch, *shape) of ops.uniform or ops.normal."""
        return draw(self.examples(), self.epoch, shape, self.seed, self.stream)

    def shared_uniform(self, name: str, shape: Shape) -> Value:
        """Returns `shape` float32 in [0, 1) for the parameter `name`, which all examples share.

        A function of seed, layer, name, epoch, element and the first example of the batch: new
        numbers for each batch, the same for it whoever trains on it.
        """
        return self.shared(ops.uniform, name, shape)

    def shared_normal(self, name: str, shape: Shape) -> Value:
        """Returns `shape` float32 normal numbers for the parameter `name`; see `shared_uniform`."""
        return self.shared(ops.normal, name, shape)

    def shared(self, draw: Callable[..., Value], name: str, shape: Shape) -> Value:
        first = ops.slice(self.examples(), (0,), (1,))
        stream = crc32(f"{self.stream}/{name}".encode()) | 1 << 31  # no layer's index
        return ops.reshape(draw(first, self.epoch, shape, self.seed, stream), shape)

    def examples(self) -> Value:
        """Returns the ids, which random numbers need."""
        if self.ids is None:
            raise ConfigError("a network with random layers needs the ids of the examples to train")
        return self.ids


@dataclass(frozen=True)
class LayerResults:
    """Results of a layer beside its output: next buffers, last states, losses, a mask."""

    updates: dict = field(default_factory=dict)
    states: dict = field(default_factory=dict)
    losses: list = field(default_factory=list)
    masks: list = field(default_factory=list)
