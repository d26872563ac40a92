"""Timing of a training step, layer by layer."""

from dataclasses import dataclass, field

import numpy as np

from sparkdl.engine.peak import peak
from sparkdl.nn.execution.replica import Replica

BACKWARD = ":grad"  # autodiff's suffix of a layer's scope; outside of layers the scope is "grad"


@dataclass
class Pass:
    """Seconds and flops of a group of calls."""

    seconds: float = 0.0
    flops: int = 0

    def __add__(self, other):
        return Pass(self.seconds + other.seconds, self.flops + other.flops)


@dataclass
class LayerTime:
    """The two passes of a layer; both are empty if kernels of another layer do its work."""

    forward: Pass = field(default_factory=Pass)
    backward: Pass = field(default_factory=Pass)


@dataclass(frozen=True)
class StepTime:
    """A training step of `batch_size` examples.

    `layers` are {name: LayerTime} in network order; `loss` is the work outside all layers: losses,
    penalties, copies. `peak` is the flops per second of a large matrix product.
    """

    batch_size: int
    layers: dict
    loss: LayerTime
    update: Pass
    peak: float

    @property
    def forward(self):
        return sum((row.forward for row in [*self.layers.values(), self.loss]), Pass())

    @property
    def backward(self):
        return sum((row.backward for row in [*self.layers.values(), self.loss]), Pass())

    @property
    def step(self):
        return self.forward + self.backward + self.update


def time_step(conf, batch_size, backend="auto", repeats=10, training=True):
    """Returns the StepTime of a network on random data: medians over `repeats` steps.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    training : bool
        False times inference, a forward pass alone.
    """
    replica = Replica(conf, backend)
    gradient, update = programs(replica, batch_size, training)
    layers, loss = {place.name: LayerTime() for place in conf.stack}, LayerTime()
    for step, took in profile_steps(gradient, repeats):
        row = layers.get(step.scope.removesuffix(BACKWARD), loss)
        if f":{step.scope}".endswith(BACKWARD):
            row.backward += took
        else:
            row.forward += took
    taken = () if update is None else profile_steps(update, repeats)
    updating = sum((took for _, took in taken), Pass())
    return StepTime(batch_size, layers, loss, updating, peak(backend))


def programs(replica, batch_size, training):
    """Returns the two programs of a training step, or the inference program and None."""
    if training:
        return replica.programs(batch_size)
    stack = replica.conf.stack
    read = {source for place in stack for source in place.sources}
    ends = [place.name for place in stack if place.name not in read]
    return replica.program_in_use(batch_size, ends), None


def profile_steps(program, repeats):
    """Yields (step, its Pass) of a program on random data."""
    rng = np.random.default_rng(0)
    feeds = {name: example(spec, rng) for name, spec in program.inputs.items()}
    for step, seconds in zip(program.steps, program.profile(feeds, repeats), strict=True):
        yield step, Pass(seconds, step.flops)


def example(spec, rng):
    """Returns an input that any network accepts: integers, which may be indices, are 0."""
    kind = np.dtype(spec.dtype).kind
    return rng.random(spec.shape) if kind == "f" else np.zeros(spec.shape, spec.dtype)
