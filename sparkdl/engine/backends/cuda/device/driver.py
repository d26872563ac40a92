"""The calls that the backend makes to a GPU, as an interface that a test double can replace.

Memory is passed as DeviceArrays. Copies, fills and launches are queued on a stream and return at
once; only `synchronize` waits. Whatever a queued call reads or writes must live until it has run.
"""

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, kw_only=True)
class Properties:
    """Properties of a device.

    Parameters
    ----------
    name : str
    capability : (major, minor), (9, 0) for sm_90
    processors : number of multiprocessors
    memory : bytes
    shared : bytes of shared memory that a block may request
    id : "GPU-5fd4...", the same in all processes that see it
    """

    name: str
    capability: tuple[int, int]
    processors: int
    memory: int
    shared: int = 48 << 10
    id: str = ""


class Driver(Protocol):
    """One device. Streams, events, modules, functions and graphs are opaque to callers."""

    properties: Properties
    number: int  # index of the device among those that this process sees

    def use(self):
        """Makes the device current for the calling thread."""

    def free(self) -> int:
        """Returns the free bytes of the device."""

    def allocate(self, size: int):
        """Allocates `size` bytes of the device, a uint8 DeviceArray that frees them when dropped.

        Raises
        ------
        DeviceError, with the requested and the free bytes.
        """

    def allocate_pinned(self, size: int):
        """Allocates `size` bytes of page-locked host memory, a uint8 array."""

    def stream(self) -> Any:
        """Returns a new stream."""

    def address(self, stream) -> int:
        """Returns the address by which libraries refer to a stream."""

    def event(self) -> Any:
        """Returns a new event, which can be recorded on a stream."""

    def record(self, event, stream):
        """Records the event after the work now on the stream."""

    def wait(self, stream, event):
        """Makes work queued on the stream from now on wait for the event."""

    def synchronize(self, event):
        """Makes the host wait until the event's last record is reached."""

    def is_reached(self, event) -> bool:
        """Returns whether the event's last record is reached. Never waits.

        Raises
        ------
        DeviceError, if the device has failed and cannot reach it any more.
        """

    def upload(self, target, source, stream):
        """Copies a pinned numpy array to a DeviceArray; both contiguous, of equal size."""

    def download(self, target, source, stream):
        """Copies a DeviceArray to a pinned numpy array; both contiguous, of equal size."""

    def move(self, target, source, stream):
        """Copies within the device; both contiguous, of equal size."""

    def fill(self, target, byte: int, stream):
        """Fills a contiguous DeviceArray with `byte`."""

    def compile(self, text: str) -> Any:
        """Returns a module compiled from CUDA C.

        Raises
        ------
        UnsupportedError, with the compiler's message.
        """

    def function(self, module, name: str) -> Any:
        """Returns a kernel of a module: an extern "C" __global__ function."""

    def launch(self, function, grid, block, arguments, shared: int, stream):
        """Queues a kernel on a stream.

        Parameters
        ----------
        grid, block : (x, y, z)
        arguments : Arguments
        shared : bytes of dynamic shared memory
        """

    def enqueue(self, work, stream):
        """Lets a library queue work on a stream.

        Parameters
        ----------
        work : function of the stream's address that neither waits nor allocates
        """

    def seconds(self, work, stream) -> float:
        """Returns the seconds that a library's work takes on a stream; 0 if it cannot be timed."""

    def begin(self, stream):
        """Starts to capture what is queued on the stream as a graph, without running it."""

    def end(self, stream) -> Any:
        """Returns the graph captured since `begin`."""

    def replay(self, graph, stream):
        """Queues a graph on a stream, as one launch."""
