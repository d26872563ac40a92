"""The context of lowerings: the device, its streams and modules, and scratch memory."""

from functools import partial
from threading import RLock

import numpy as np

from sparkdl.engine.backends.cuda.kernels import modules
from sparkdl.engine.backends.cuda.kernels.arguments import Arguments
from sparkdl.engine.backends.cuda.kernels.signatures import KernelFunction, parameters


class Device:
    """A driver, two streams that programs share, cached modules, libraries, and a workspace.

    Hold `lock` to queue work on the streams, so that no thread's work gets into another's graph.

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
        """Returns at least `size` bytes for the kernel stream, where one user at a time runs."""
        with self.lock:
            if self._workspace is None or self._workspace.nbytes < size:
                self._workspace = self.driver.allocate(size)
            return self._workspace

    def wait(self):
        """Waits until everything queued on the kernel stream has run."""
        self.driver.synchronize(self.mark(self.stream))

    def mark(self, stream):
        """Returns a mark after what is on a stream now."""
        event = self.driver.event()
        self.driver.record(event, stream)
        return event

    def holding(self, value):
        """Returns a new device array with the values of a host array."""
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
    """The session of one program: it makes launches, and provides their temporary memory.

    Parameters
    ----------
    device : Device
    tf32 : bool
        Whether libraries may round float32 factors in products and convolutions to 11 bits.

    `notes` are lines for describe(): what libraries refused in rewrites.
    """

    def __init__(self, device, tf32=False):
        self.device, self.libraries, self.tf32 = device, device.libraries, tf32
        self.notes = []
        self._waiting, self._scratches, self._size = [], [], 0

    def family(self, file, name, **types):
        """Returns a KernelFunction of a file in kernels/source/.

        `types` define what the file leaves open: numpy types, numbers.
        """
        return self.function(modules.of_family(file, tuple(sorted(types.items()))), name)

    def function(self, text, name):
        """Returns a KernelFunction of a module given as text."""
        return KernelFunction(name, self.device.function(text, name), parameters(text, name))

    def launch(self, kernel, grid, block, *values, shared=0):
        """Returns a call that queues a kernel on the stream.

        Parameters
        ----------
        grid, block : int, or a tuple of up to three
        values : see Arguments; a Scratch is a pointer

        Raises
        ------
        OperandError
            If they do not match the kernel's parameters.
        """
        kernel.check(values)
        arguments = Arguments(values)
        self._waiting += [
            (c, v) for c, v in zip(arguments.cells, values, strict=True) if isinstance(v, Scratch)
        ]
        words = kernel.function, three(grid), three(block), arguments, shared, self.device.stream
        return partial(self.device.driver.launch, *words)

    def enqueue(self, work):
        """Returns a call with which a library queues work on the stream, passed by address.

        `work` must look up the memory of a Scratch when it is called, not before.
        """
        return partial(self.device.driver.enqueue, work, self.device.stream)

    def grid(self, threads, block):
        """Returns the blocks for `threads` threads, or fewer, whose threads loop."""
        return max(1, min(-(-threads // block), self.device.driver.properties.processors * 16))

    def fill(self, array, byte=0):
        """Returns a call that fills a contiguous array with a byte."""
        return partial(self.device.driver.fill, array, byte, self.device.stream)

    def move(self, target, source):
        """Returns a call that copies an array; both contiguous, of equal size."""
        return partial(self.device.driver.move, target, source, self.device.stream)

    def constant(self, value):
        """Returns a device array with the values of a numpy array."""
        return self.device.holding(value)

    def scratch(self, size):
        """Returns `size` bytes for the launches of one kernel.

        The next kernel may get the same bytes.
        """
        self._size = max(self._size, size)
        scratch = Scratch(size)
        self._scratches.append(scratch)
        return scratch

    def settle(self):
        """Assigns the scratch memory, once all kernels have requested theirs."""
        memory = self.device.workspace(self._size) if self._size else None
        for scratch in self._scratches:
            scratch.memory = memory
        for cell, scratch in self._waiting:
            cell.value = scratch.memory.address
        self._waiting, self._scratches = [], []


class Scratch:
    """Memory assigned once all kernels of a program are made."""

    def __init__(self, size):
        self.size, self.memory = size, None


def three(sizes):
    sizes = sizes if isinstance(sizes, tuple) else (sizes,)
    return (*(int(n) for n in sizes), *(1,) * (3 - len(sizes)))
