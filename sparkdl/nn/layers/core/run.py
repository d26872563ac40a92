"""One pass of a batch through a layer: its context, and results besides the output."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from zlib import crc32

from sparkdl.engine import ops
from sparkdl.errors import ConfigError
from sparkdl.nn.hints import Shape, Value


@dataclass(frozen=True, kw_only=True)
class Run:
    """One pass of one batch through one layer.

    Parameters
    ----------
    training : bool
        Whether dropout drops and batch normalization uses the batch's own statistics.
    buffers, states : dict of float arrays or Tensors
        Untrained state of this layer; initial states of a recurrent layer, (batch, ...) each, empty
        if they are zeros.
    seed, stream : int
        The network's seed, and the index of this layer.
    ids : (batch,) uint64, or None
        Positions of the examples in the data set, which determine random numbers.
    epoch : int scalar
    masks : tuple of (batch, T) float or None
        For each input that is a sequence, 1 for a step and 0 for padding.
    labels : array, Tensor or None
        The labels of an output layer in training.
    backward_steps : int or None
        The number of last steps of a sequence through which gradients flow back; None: all.
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
        """Returns a Run of the same pass for another layer."""
        return replace(self, stream=stream, results=LayerResults(), **seen)

    @property
    def mask(self) -> Value:
        """The mask of the first input, or None."""
        return self.masks[0] if self.masks else None

    @property
    def updates(self) -> dict[str, Any]:
        """{buffer: next value} of the buffers that the layer has changed."""
        return self.results.updates

    def update(self, name: str, value: Any) -> None:
        """Sets the next value of a buffer."""
        if name not in self.buffers:
            raise KeyError(f"no buffer {name!r}; the layer has {sorted(self.buffers)}")
        self.results.updates[name] = value

    def state(self, name: str) -> Value:
        """Returns the initial state (batch, ...) of a recurrent layer; None for zeros."""
        return self.states.get(name)

    def carry(self, name: str, value: Any) -> None:
        """Stores a final state, from which the next batch may continue."""
        self.results.states[name] = value

    def mask_output(self, mask: Value) -> None:
        """Sets the mask (batch, T) of the output, overriding the input's."""
        self.results.masks[:] = [mask]

    def add_loss(self, values: Value) -> None:
        """Adds `values` (batch,) to the examples' losses in training."""
        self.results.losses.append(values)

    def uniform(self, shape: Shape) -> Value:
        """Returns (batch, *shape) float32 in [0, 1).

        They depend on seed, layer, example, epoch and element.
        """
        return self.draw(ops.uniform, shape)

    def normal(self, shape: Shape) -> Value:
        """Returns (batch, *shape) float32 normal numbers; see `uniform`."""
        return self.draw(ops.normal, shape)

    def draw(self, draw: Callable[..., Value], shape: Shape) -> Value:
        """Returns (batch, *shape) random numbers from ops.uniform or ops.normal."""
        return draw(self.examples(), self.epoch, shape, self.seed, self.stream)

    def shared_uniform(self, name: str, shape: Shape) -> Value:
        """Returns `shape` float32 in [0, 1) for the parameter `name`, shared by all examples.

        They depend on seed, layer, name, epoch, element and the first example of the batch: each
        batch has new numbers, which are the same on any worker.
        """
        return self.shared(ops.uniform, name, shape)

    def shared_normal(self, name: str, shape: Shape) -> Value:
        """Returns `shape` float32 normal numbers for the parameter `name`; see `shared_uniform`."""
        return self.shared(ops.normal, name, shape)

    def shared(self, draw: Callable[..., Value], name: str, shape: Shape) -> Value:
        first = ops.slice(self.examples(), (0,), (1,))
        stream = crc32(f"{self.stream}/{name}".encode()) | 1 << 31  # differs from any layer's index
        return ops.reshape(draw(first, self.epoch, shape, self.seed, stream), shape)

    def examples(self) -> Value:
        """Returns the ids, which random numbers require; raises ConfigError without them."""
        if self.ids is None:
            raise ConfigError("a network with random layers needs the ids of the examples to train")
        return self.ids


@dataclass(frozen=True)
class LayerResults:
    """Results of a layer besides its output: next buffers, last states, losses, a mask."""

    updates: dict = field(default_factory=dict)
    states: dict = field(default_factory=dict)
    losses: list = field(default_factory=list)
    masks: list = field(default_factory=list)
