"""Transfer of values to the next stage and of gradients to the previous one."""

from math import prod

import numpy as np


class Passage:
    """One-way transfer of microbatch arrays to or from a neighboring stage.

    Parameters
    ----------
    group : Group
        Of the pipeline, by stage.
    peer, tag : int
    shapes : list of {name: shape}
        Of the transferred arrays, for each microbatch.
    """

    def __init__(self, group, peer, tag, shapes):
        self.group, self.peer, self.tag, self.shapes = group, peer, tag, shapes
        self._sending, self._coming = [], {}

    def send(self, number, arrays):
        """Sends float32 arrays {name: array} of a microbatch; they are copied first."""
        flat, views = self._room(number)
        for name, view in views.items():
            np.copyto(view, arrays[name])
        self._sending.append(self.group.start_send(flat, self.peer, self.tag))

    def receive(self, number):
        """Returns {name: array} of a microbatch, and starts to receive the next one."""
        self.expect(number)
        pending, views = self._coming.pop(number)
        self.expect(number + 1)
        pending.wait()
        return views

    def expect(self, number):
        """Starts to receive a microbatch, if there is one with this number."""
        if number < len(self.shapes) and number not in self._coming:
            flat, views = self._room(number)
            pending = self.group.start_receive(flat, self.peer, self.tag)
            self._coming[number] = pending, views

    def settle(self):
        """Waits until everything has been sent."""
        while self._sending:
            self._sending.pop(0).wait()

    def _room(self, number):
        """Returns (a vector, {name: view of it}) for a microbatch."""
        shapes = self.shapes[number]
        flat, views, start = np.empty(sum(map(prod, shapes.values())), np.float32), {}, 0
        for name, shape in shapes.items():
            views[name] = flat[start : start + prod(shape)].reshape(shape)
            start += prod(shape)
        return flat, views
