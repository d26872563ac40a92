"""The interface of Backend.link: sums of vectors over devices of several processes."""

from typing import Protocol


class DeviceLink(Protocol):
    """One of the devices of several processes, which all make the same calls in the same order.

    Attributes
    ----------
    id : str
        Identifies the device, the same in all processes that see it.
    version : str
        Version of the communication library; all processes need the same.
    """

    id: str
    version: str

    def invitation(self):
        """Returns the text with which all processes join; one process creates it."""

    def join(self, size, invitation, rank):
        """Connects the devices of all ranks; DeviceError if one is refused."""

    def use(self):
        """Makes the device current for the calling thread."""

    def check(self):
        """Raises DeviceError if an exchange has failed; only for the thread that may `abort`."""

    def abort(self):
        """Aborts all pending exchanges."""

    def destroy(self):
        """Disconnects after success; may wait for the other devices."""

    # Device vectors

    def keep(self, name, weight):
        """Adds weight * vector to the term that the next `add_up` adds to this vector."""

    def clear(self, name):
        """Fills a vector with zeros; returns a mark after that."""

    def add_up(self, name, part, factor, share, mark):
        """Starts to replace a part of a vector by its sum over all devices; returns DeviceWork."""

    def join_in(self):
        """Makes later work of the device wait for all sums started so far."""

    # Flat host arrays; each method returns DeviceWork

    def all_reduce(self, x):
        """Replaces x by its sum over all ranks."""

    def broadcast(self, x, root):
        """Replaces x by that of rank `root`."""

    def reduce_scatter(self, x, edges):
        """Replaces x[edges[r] : edges[r + 1]] on rank r by its sum; the rest of x is undefined."""

    def all_gather(self, x, edges):
        """Fills x, where rank r provides x[edges[r] : edges[r + 1]]."""


class DeviceWork(Protocol):
    """An exchange in progress."""

    def is_reached(self):
        """Returns whether the exchange has finished."""

    def take(self):
        """Fills the host array of the exchange once it has finished."""
