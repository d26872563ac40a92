"""Feeds the inputs of a program through a ring of slots, so that copies overlap kernels.

Numbers are copied in their own type if that is smaller, and cast to the input's type on the device;
described images (decoding.py) are copied in stored form.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from sparkdl.engine.backends.cuda.execution.decoding import ImageFeed
from sparkdl.engine.backends.cuda.kernels.modules import C_TYPES
from sparkdl.engine.backends.cuda.lowerings.chains import copy_array
from sparkdl.engine.graph import Spec
from sparkdl.engine.planner import align
from sparkdl.engine.program import copy_into

SLOTS = 3


@dataclass(frozen=True)
class Target:
    """Memory of an input, and its declared spec; `memory` may have more channels.

    Feeds fill the additional channels with zeros.
    """

    memory: object
    spec: Spec

    @property
    def is_padded(self):
        return self.memory.shape != self.spec.shape

    @property
    def array(self):
        """The array that fed numbers fill."""
        return self.memory[:, : self.spec.shape[1]] if self.is_padded else self.memory


@dataclass(frozen=True)
class PlainFeed:
    """The transfer format of plain numbers: one type."""

    kind: np.dtype

    def size(self, target):
        """Returns the bytes of a slot that an input takes."""
        return target.array.size * self.kind.itemsize

    def plan_transfer(self, session, target, host, device):
        """Returns (function that fills a part of a slot, calls that transfer it to the input)."""
        array = target.array
        fill = partial(copy_into, array.like(host, self.kind))
        if self.kind == array.dtype and not target.is_padded:
            return fill, [session.move(array.flat_bytes(), device)]
        zeros = [session.fill(target.memory.flat_bytes())] if target.is_padded else []
        return fill, zeros + copy_array(session, None, [array.like(device, self.kind)], [array])[0]


class Slot:
    """Pinned memory for all feeds, its counterpart on the device, and events of their last use.

    Parameters
    ----------
    targets : {name: Target} of the inputs
    ways : ((name, transfer format), ...)
    """

    def __init__(self, session, targets, ways):
        driver, sizes = session.device.driver, {n: way.size(targets[n]) for n, way in ways}
        total = sum(map(align, sizes.values()))
        self.host, self.device_memory = driver.allocate_pinned(total), driver.allocate(total)
        self.copy_event, self.use_event = driver.event(), driver.event()
        self.fills, self.calls, start = {}, [], 0
        for name, way in ways:
            part = slice(start, start + sizes[name])
            host, device = self.host[part], self.device_memory[part]
            self.fills[name], calls = way.plan_transfer(session, targets[name], host, device)
            self.calls += calls
            start += align(sizes[name])


class Feeds:
    """Fills the inputs of a program, {name: Target}."""

    def __init__(self, session, targets):
        self.session, self.targets = session, {n: t for n, t in targets.items() if t.memory.nbytes}
        self.rings, self.number = {}, 0

    def fill(self, values):
        """Queues copies of host arrays, cast as needed, ahead of what runs next."""
        if not self.targets:
            return
        ways = tuple((n, way_of(values[n], t.spec)) for n, t in self.targets.items())
        if ways not in self.rings:
            slots = [Slot(self.session, self.targets, ways) for _ in range(SLOTS)]
            self.rings[ways] = slots
        slot = self.rings[ways][self.number % SLOTS]
        self.number += 1
        self.through(slot, values)

    def through(self, slot, values):
        device = self.session.device
        driver, stream, copies = device.driver, device.stream, device.copies
        driver.synchronize(slot.copy_event)
        for name, fill in slot.fills.items():
            fill(values[name])
        driver.wait(copies, slot.use_event)
        driver.upload(slot.device_memory, slot.host, copies)
        driver.record(slot.copy_event, copies)
        driver.wait(stream, slot.copy_event)
        for call in slot.calls:
            call()
        driver.record(slot.use_event, stream)


def way_of(value, spec):
    """Returns the transfer format of a value; numbers use the smaller of the two types."""
    decoded = ImageFeed.of(value)
    if decoded is not None:
        return decoded
    kind, declared = value.dtype, np.dtype(spec.dtype)
    smaller = kind.itemsize < declared.itemsize and kind.name in C_TYPES
    return PlainFeed(kind if smaller else declared)
