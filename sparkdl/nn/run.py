"""What a layer may know and leave behind while a batch passes through it."""

from dataclasses import dataclass, field, replace
from typing import Any

from sparkdl.engine import ops
from sparkdl.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Run:
    """One pass of one batch, as one layer sees it.

    Parameters
    ----------
    training : bool
        Whether dropout drops and batch normalisation uses the batch's own statistics.
    buffers : dict of float arrays or Tensors
        State of this layer that is not trained.
    seed, stream : int
        The network's seed, and the index of this layer.
    ids : (batch,) uint64, or None
        Places of the examples in the data set: what random numbers depend on.
    epoch : int scalar
    """

    training: bool
    seed: int
    ids: Any = None
    epoch: Any = 0
    stream: int = 0
    buffers: dict = field(default_factory=dict)
    updates: dict = field(default_factory=dict)

    def of_layer(self, stream, buffers):
        """The same pass, for another layer."""
        return replace(self, stream=stream, buffers=buffers, updates={})

    def update(self, name, value):
        """Give a buffer its next value."""
        if name not in self.buffers:
            raise KeyError(f"no buffer {name!r}; the layer has {sorted(self.buffers)}")
        self.updates[name] = value

    def uniform(self, shape):
        """(batch, *shape) float32 in [0, 1), a function of seed, layer, example, epoch, element."""
        if self.ids is None:
            raise ConfigError("a network with random layers needs the ids of the examples to train")
        return ops.uniform(self.ids, self.epoch, shape, self.seed, self.stream)
