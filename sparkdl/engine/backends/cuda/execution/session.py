"""Context in which kernels are made: the device, its streams and modules, scratch memory."""

from functools import partial
from threading import RLock

import numpy as np

from sparkdl.engine.backends.cuda.kernels import modules
from sparkdl.engine.backends.cuda.kernels.arguments import Arguments
from sparkdl.engine.backends.cuda.kernels.signatures import KernelFunction, parameters


class Device:
    """A driver, the two streams that programs share, each module once, libraries, and a workspace.

    Whoever puts work on the streams holds `lock`, so that no thread's work gets into another's
    graph.

    Parameters
    ----------
    driver : Driver
    libraries : Libraries
    """

    def __init__(self, driver, libraries):
        self.driver, self.libraries, self.lock = driver, libraries, RLock()
        driver.use()
        self.stream, self.copies = driver.stream(), driver.stream()
        self._modules, self._workspace = {}, None

    def function(self, text, name):
        """Returns a kernel of a module."""
        with self.lock:
            if text not in self._modules:
                self._modules[text] = self.driver.compile(text)
            return self.driver.function(self._modules[text], name)

    def workspace(self, size):
        """Returns at least `size` bytes for what runs on the stream of kernels, one at a time."""
        with self.lock:
            if self._workspace is None or self._workspace.nbytes < size:
                self._workspace = self.driver.allocate(size)
            return self._workspace

    def wait(self):
        """Waits until all that was put on the stream of kernels has run."""
        self.driver.synchronize(self.mark(self.stream))

    def mark(self, stream):
        """Returns a mark behind what is on a stream now."""
        event = self.driver.event()
        self.driver.record(event, stream)
        return event

    def holding(self, value):
        """Returns a new array of the device with the numbers of one of the host."""
        value = np.asarray(value, order="C")
        memory = self.driver.allocate(max(value.nbytes, 1))
        if value.nbytes:
            host = self.driver.allocate_pinned(value.nbytes)
            host[:] = value.reshape(-1).view(np.uint8)
            with self.lock:
                self.driver.upload(memory[: value.nbytes], host, self.stream)
                self.wait()
        return memory[: value.nbytes].view(value.dtype).reshape(value.shape)


class CudaSession:
    """A program's own: it makes launches, and gives them memory that nothing keeps between them.

    Parameters
    ----------
    device : Device
    tf32 : bool
        Whether libraries may round float32 factors of products and convolutions to 11 bits.

    `notes` are lines for describe(): what rewrites found that libraries refuse.
    """

    def __init__(self, device, tf32=False):
        self.device, self.libraries, self.tf32 = device, device.libraries, tf32
        self.notes = []
        self._waiting, self._scratches, self._size = [], [], 0

    def family(self, file, name, **types):
        """Returns a Kernel of a file in kernels/source/.

        `types` are what it leaves open: numpy types, numbers.
        """
        return self.function(modules.of_family(file, tuple(sorted(types.items()))), name)

    def function(self, text, name):
        """Returns a Kernel of a module given by its text."""
        return KernelFunction(name, self.device.function(text, name), parameters(text, name))

    def launch(self, kernel, grid, block, *values, shared=0):
        """Returns a call that puts a kernel on the stream.

        Parameters
        ----------
        grid, block : int, or a tuple of up to three
        values : see Arguments; a Scratch is a pointer

        Raises
        ------
        OperandError
            Where the kernel would misread them.
        """
        kernel.check(values)
        arguments = Arguments(values)
        self._waiting += [
            (c, v) for c, v in zip(arguments.cells, values, strict=True) if isinstance(v, Scratch)
        ]
        words = kernel.function, three(grid), three(block), arguments, shared, self.device.stream
        return partial(self.device.driver.launch, *words)

    def enqueue(self, work):
        """Makes a call that lets a library put work on the stream: `work` is given its address.

        What it reads a Scratch's memory for it asks when it is called, not before.
        """
        return partial(self.device.driver.enqueue, work, self.device.stream)

    def grid(self, threads, block):
        """Returns blocks for so many threads, or fewer where each thread goes on to more work."""
        return max(1, min(-(-threads // block), self.device.driver.properties.processors * 16))

    def fill(self, array, byte=0):
        """Returns a call that writes a byte all over a contiguous array."""
        return partial(self.device.driver.fill, array, byte, self.device.stream)

    def move(self, target, source):
        """Returns a call that copies as many bytes, both contiguous."""
        return partial(self.device.driver.move, target, source, self.device.stream)

    def constant(self, value):
        """Returns a numpy array's numbers on the device."""
        return self.device.holding(value)

    def scratch(self, size):
        """Returns `size` bytes for the launches of one kernel.

        The next kernel's may be the same bytes.
        """
        self._size = max(self._size, size)
        scratch = Scratch(size)
        self._scratches.append(scratch)
        return scratch

    def settle(self):
        """Finds the scratch memory, now that all have asked."""
        memory = self.device.workspace(self._size) if self._size else None
        for scratch in self._scratches:
            scratch.memory = memory
        for cell, scratch in self._waiting:
            cell.value = scratch.memory.address
        self._waiting, self._scratches = [], []


class Scratch:
    """Memory that is known once all kernels of a program are made."""

    def __init__(self, size):
        self.size, self.memory = size, None


def three(sizes):
    sizes = sizes if isinstance(sizes, tuple) else (sizes,)
    return (*(int(n) for n in sizes), *(1,) * (3 - len(sizes)))
