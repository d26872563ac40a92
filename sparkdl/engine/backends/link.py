"""Contract of Backend.link: sums of vectors over the devices of several processes."""

from typing import Protocol


class DeviceLink(Protocol):
    """One device among those of several processes, all of which ask for the same in the same order.

    Attributes
    ----------
    id : str
        Of the device, the same for all processes that see it.
    version : str
        Of the library that carries the numbers; all processes need the same.
    """

    id: str
    version: str

    def invitation(self):
        """Returns the text by which all processes join; one process makes it."""

    def join(self, size, invitation, rank):
        """Meets the devices of all ranks; DeviceError where one is refused."""

    def use(self):
        """Makes the device the calling thread's."""

    def check(self):
        """Raises DeviceError if an exchange has failed; only the thread that may `abort` asks."""

    def abort(self):
        """Gives up all that is under way."""

    def destroy(self):
        """Leaves the other devices, where all has gone well; may wait for them."""

    # Vectors of the device

    def keep(self, name, weight):
        """Adds weight * vector to what the next `add_up` of this vector adds to it."""

    def clear(self, name):
        """Fills a vector with zeros; returns the mark behind it."""

    def add_up(self, name, part, factor, share, mark):
        """Begins to replace a part of a vector by its sum over all devices; returns DeviceWork."""

    def join_in(self):
        """Lets what the device does from now on begin after all that was added up."""

    # Flat arrays of the host; each returns DeviceWork

    def all_reduce(self, x):
        """Replaces x by its sum over all ranks."""

    def broadcast(self, x, root):
        """Replaces x by that of rank `root`."""

    def reduce_scatter(self, x, edges):
        """Replaces x[edges[r] : edges[r + 1]] on rank r by its sum; the rest of x is anything."""

    def all_gather(self, x, edges):
        """Fills x, of which rank r has x[edges[r] : edges[r + 1]]."""


class DeviceWork(Protocol):
    """An exchange that has begun."""

    def is_reached(self):
        """Returns whether it has ended."""

    def take(self):
        """Fills the array of the host that it was asked for, once it has ended."""
