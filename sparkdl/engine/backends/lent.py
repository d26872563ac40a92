"""Contract of Backend.lend: vectors of a device, for another library of this process."""

from contextlib import AbstractContextManager
from typing import Any, Protocol


class Lent(Protocol):
    """Vectors where they lie on a device.

    Attributes
    ----------
    number : int
        Of the device, among those that this process sees.
    """

    number: int

    def memory(self, name: str) -> Any:
        """Returns a vector's memory, with `address` and `size` in numbers, for the life of it."""

    def computing(self, *written: str) -> AbstractContextManager[int]:
        """Brings the device up to date, and gives the address of its stream.

        What is put on that stream within comes behind what the backend has put there, and before
        what it will. `written` are names of vectors that it writes.
        """

    def mark(self) -> Any:
        """Returns a mark behind what is on the stream now; see Replica.gradient."""
