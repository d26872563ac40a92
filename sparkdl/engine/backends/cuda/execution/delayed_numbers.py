"""Numbers read when they are needed, so that summing losses does not stall the device."""

from weakref import WeakValueDictionary

import numpy as np

PLACES = 256  # pending numbers; further ones wait for the oldest


class Landing:
    """Pinned memory for the values of one output over many runs."""

    def __init__(self, device, target):
        self.device, self.target = device, target
        self.host = device.driver.allocate_pinned(PLACES * target.itemsize)
        self.events = [device.driver.event() for _ in range(PLACES)]
        self.count, self.readings = 0, WeakValueDictionary()

    def number(self):
        """Returns the number that the last queued run will give, as a DelayedSum."""
        place, driver = self.count % PLACES, self.device.driver
        self.count += 1
        before = self.readings.get(place)  # None also once nothing refers to it any more
        if before is not None:
            before.value()
        size, event = self.target.itemsize, self.events[place]
        memory = self.host[place * size : (place + 1) * size]
        with self.device.lock:
            driver.use()
            driver.download(memory, self.target.flat_bytes(), self.device.stream)
            driver.record(event, self.device.stream)
        reading = DelayedNumber(driver, event, memory.view(self.target.dtype))
        self.readings[place] = reading
        return DelayedSum([(1.0, reading)])


class DelayedNumber:
    """A number that is available once an event is reached."""

    def __init__(self, driver, event, memory):
        self.driver, self.event, self.memory = driver, event, memory

    def value(self):
        if self.event is not None:
            self.driver.synchronize(self.event)
            self.memory, self.event = float(self.memory[0]), None
        return self.memory


class DelayedSum:
    """A weighted sum of delayed numbers plus a known one; float() waits for them.

    Adding to it and scaling it give delayed numbers too; all other operations use its float.
    """

    __array_ufunc__ = None

    def __init__(self, terms, known=0.0):
        self.terms, self.known = terms, known

    def __float__(self):
        self.known += sum(factor * reading.value() for factor, reading in self.terms)
        self.terms = []
        return float(self.known)

    def __add__(self, other):
        if isinstance(other, DelayedSum):
            return DelayedSum(self.terms + other.terms, self.known + other.known)
        return DelayedSum(self.terms, self.known + other)

    def __mul__(self, factor):
        factor = float(factor)
        return DelayedSum([(f * factor, reading) for f, reading in self.terms], self.known * factor)

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other):
        return self + -1.0 * other

    def __rsub__(self, other):
        return -1.0 * self + other

    def __truediv__(self, divisor):
        return self * (1 / divisor)

    def __eq__(self, other):
        return float(self) == other

    def __lt__(self, other):
        return float(self) < other

    def __le__(self, other):
        return float(self) <= other

    def __gt__(self, other):
        return float(self) > other

    def __ge__(self, other):
        return float(self) >= other

    def __array__(self, dtype=None, copy=None):
        return np.array(float(self), dtype)

    def __format__(self, form):
        return format(float(self), form)

    def __repr__(self):
        return repr(float(self))

    def __reduce__(self):
        return float, (float(self),)

    __hash__ = None
