"""The interface of Backend.lend: device vectors for another library of this process."""

from contextlib import AbstractContextManager
from typing import Any, Protocol


class Lent(Protocol):
    """Vectors in device memory.

    Attributes
    ----------
    number : int
        Index of the device among those visible to this process.
    """

    number: int

    def memory(self, name: str) -> Any:
        """Returns a vector's memory, with `address` and `size` in numbers, while it exists."""

    def computing(self, *written: str) -> AbstractContextManager[int]:
        """Brings the device up to date, and yields the address of its stream.

        Work put on the stream inside the context runs after the backend's earlier and before its
        later work. `written` names the vectors that it writes.
        """

    def mark(self) -> Any:
        """Returns a mark after the work now on the stream; see Replica.gradient."""
