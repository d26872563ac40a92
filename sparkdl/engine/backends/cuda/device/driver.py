"""The few calls that the backend makes to a GPU, so that a test double can stand in for one.

Memory is named by DeviceArrays. Copies, fills and launches are put on a stream and come back at
once; only `synchronize` waits. What a call put on a stream reads or writes must live until it ran.
"""

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, kw_only=True)
class Properties:
    """Properties of a device.

    Parameters
    ----------
    name : str
    capability : (major, minor) as in sm_90
    processors : multiprocessors
    memory : bytes
    shared : bytes of shared memory that a block may ask for
    id : as "GPU-5fd4...", the same for all processes that see it
    """

    name: str
    capability: tuple[int, int]
    processors: int
    memory: int
    shared: int = 48 << 10
    id: str = ""


class Driver(Protocol):
    """One device. Streams, events, modules, functions and graphs are opaque to whoever asks."""

    properties: Properties
    number: int  # of the device, among those that this process sees

    def use(self):
        """Makes the device the calling thread's."""

    def free(self) -> int:
        """Returns bytes of the device that nobody has."""

    def allocate(self, size: int):
        """Takes `size` bytes of the device, a DeviceArray of uint8; dropped, it gives them back.

        Raises
        ------
        DeviceError, with what was asked for and what is free.
        """

    def allocate_pinned(self, size: int):
        """Takes `size` bytes of the host that copies reach by themselves, a uint8 array."""

    def stream(self) -> Any:
        """Returns a queue of work of its own."""

    def address(self, stream) -> int:
        """Returns the address by which libraries know a stream."""

    def event(self) -> Any:
        """Returns a mark that can be put into a stream."""

    def record(self, event, stream):
        """Puts the mark behind what is on the stream now."""

    def wait(self, stream, event):
        """Makes what is put on the stream from now on wait for the mark."""

    def synchronize(self, event):
        """Waits on the host until the mark's last place is reached."""

    def is_reached(self, event) -> bool:
        """Returns whether the mark's last place is reached. Never waits.

        Raises
        ------
        DeviceError, where the device has failed: it reaches nothing any more.
        """

    def upload(self, target, source, stream):
        """Copies a pinned numpy array to a DeviceArray; both contiguous, of as many bytes."""

    def download(self, target, source, stream):
        """Copies a DeviceArray to a pinned numpy array; both contiguous, of as many bytes."""

    def move(self, target, source, stream):
        """Copies within the device; both contiguous, of as many bytes."""

    def fill(self, target, byte: int, stream):
        """Writes `byte` to all of a contiguous DeviceArray."""

    def compile(self, text: str) -> Any:
        """Returns a module from CUDA C.

        Raises
        ------
        UnsupportedError, with what the compiler says.
        """

    def function(self, module, name: str) -> Any:
        """Returns a kernel of a module: an extern "C" __global__ function."""

    def launch(self, function, grid, block, arguments, shared: int, stream):
        """Puts a kernel on a stream.

        Parameters
        ----------
        grid, block : (x, y, z)
        arguments : Arguments
        shared : bytes of dynamic shared memory
        """

    def enqueue(self, work, stream):
        """Lets a library put work on a stream.

        Parameters
        ----------
        work : function of the stream's address; it waits for nothing and allocates nothing
        """

    def seconds(self, work, stream) -> float:
        """Returns the seconds that a library's work takes on a stream; 0 if it cannot be timed."""

    def begin(self, stream):
        """Begins a graph of what is put on the stream from now on, which does not run."""

    def end(self, stream) -> Any:
        """Returns the graph of what was put on the stream since `begin`."""

    def replay(self, graph, stream):
        """Puts all of a graph on a stream, as one launch."""
