"""Slices of a gradient on a device, summed with those of other devices without leaving it."""

from functools import partial

from sparkdl.training.masters.all_reduce.buckets import Buckets

GRADIENT = "grad"


class DeviceBuckets(Buckets):
    """Like Buckets, but the gradient never leaves the devices.

    Buckets are summed on a separate stream, overlapping with the rest of the backward pass. The
    device runs the update after all sums; this process waits for them only in `settle`.

    Parameters
    ----------
    worker : Worker
        Its group is a DeviceGroup.
    nbytes : int
    """

    def begin(self, weight):
        super().begin(weight)
        self._marks, self._started = {}, 0

    def keep(self, weight):
        self.worker.group.keep(GRADIENT, weight)
        self._keeps = True

    def last(self, step, weight):
        names = [[] for _ in self._slices]
        for name, place in self._owners.items():
            names[place].append(name)
        queued = [(part, partial(self._final, i, weight)) for i, part in enumerate(names)]
        self.worker.gradient(step, queued=queued)
        self._keeps = False

    def add_zeros(self) -> None:
        mark = self.worker.group.clear(GRADIENT)
        for place in range(len(self._slices)):
            self._final(place, 0, mark)

    def end(self) -> None:
        self.worker.group.join_in()

    def settle(self) -> None:
        with self.worker.exchanging():
            self.worker.group.settle()

    def _final(self, place, weight, mark):
        """Starts the sums of buckets that are final, in the same order on all workers."""
        self._marks[place] = weight, mark
        while self._started in self._marks:
            self._sum(self._started, *self._marks[self._started])
            self._started += 1

    def _sum(self, place, weight, mark):
        total, part = self._total_weight(), self._slices[place]
        share = 1 / total if self._keeps else None
        self.worker.group.add_up(GRADIENT, part, weight / total, share, mark)
