"""Sums of vectors over devices of several processes, in device memory or through the device."""

import numpy as np

from sparkdl.engine.backends.cuda.execution.session import CudaSession, three
from sparkdl.engine.backends.cuda.kernels.arguments import Arguments
from sparkdl.engine.backends.cuda.libraries.nccl import Communicator

THREADS = 256


class NcclLink(Communicator):
    """A Communicator with vectors. Requests return immediately, as LinkWork.

    Parameters
    ----------
    device : Device
    nccl : Nccl
    vectors : {name: DeviceMirror}
        Vectors in device memory.
    """

    def __init__(self, device, nccl, vectors):
        super().__init__(device, nccl)
        self.vectors, self.session = vectors, CudaSession(device)
        self._kept, self._stagings, self._last = {}, [], None

    # Device vectors

    def keep(self, name, weight):
        """Adds weight * vector to the term that the next `add_up` adds to this vector."""
        with self.device.lock:
            self.use()
            self.vectors[name].upload()
            vector = self.vectors[name].original
            if name not in self._kept:
                self._kept[name] = self.driver.allocate(vector.nbytes).view(vector.dtype)
                self.driver.fill(self._kept[name], 0, self.device.stream)
            self._combine(self._kept[name], 1.0, vector, weight, self.device.stream)

    def clear(self, name):
        """Fills a vector with zeros; returns a mark after that."""
        mirror = self.vectors[name]
        with self.device.lock:
            self.use()
            self.driver.fill(mirror.memory, 0, self.device.stream)
            mirror.host_newer, mirror.device_newer = False, True
            return self.device.mark(self.device.stream)

    def add_up(self, name, part, factor, share, mark):
        """Replaces a part of a vector by the sum over all devices of factor * it + share * kept.

        It starts at a mark of the device's work, which continues meanwhile, until `join_in`.

        Parameters
        ----------
        part : slice
        factor : float
        share : float or None
            The factor of the kept term, which is cleared with it; None: nothing was kept.
        """
        with self.device.lock:
            self.use()
            piece = self.vectors[name].original[part]
            kept = None if share is None else self._kept[name][part]
            self.driver.wait(self.stream, mark)
            self._combine(piece, factor, kept, share or 0.0, self.stream)
            self.sum(piece.address, piece.size, piece.dtype)
            if kept is not None:
                self.driver.fill(kept, 0, self.stream)
            self.vectors[name].mark_written()
            self._last = self.device.mark(self.stream)
            return LinkWork(self.driver, self._last)

    def join_in(self):
        """Makes the device's stream wait for all sums started so far."""
        if self._last is not None:
            with self.device.lock:
                self.use()
                self.driver.wait(self.device.stream, self._last)

    def _combine(self, y, a, x, b, stream):
        """Sets y = a * y + b * x."""
        kernel = self.session.family("combine.cu", "combine", T=y.dtype.name)
        values = np.uint64(y.size), float(a), float(b), x, y
        kernel.check(values)
        grid, values = self.session.grid(y.size, THREADS), Arguments(values)
        self.driver.launch(kernel.function, three(grid), three(THREADS), values, 0, stream)

    # Flat host arrays

    def all_reduce(self, x):
        """Replaces x by its sum over all ranks."""
        return self._through(x, lambda device: self.sum(device, x.size, x.dtype))

    def broadcast(self, x, root):
        """Replaces x by that of rank `root`."""
        return self._through(x, lambda device: self.spread(device, x.size, x.dtype, root))

    def reduce_scatter(self, x, edges):
        """Replaces x[edges[r] : edges[r + 1]] on rank r by its sum; the rest of x is undefined."""
        return self._through(x, lambda device: self.sum_pieces(device, x.dtype, edges))

    def all_gather(self, x, edges):
        """Fills x, where rank r provides x[edges[r] : edges[r + 1]]."""
        return self._through(x, lambda device: self.spread_pieces(device, x.dtype, edges))

    def _through(self, x, put):
        """Copies x to the device, queues `put(address)` on the stream, and copies x back."""
        staging = self._staging(x.nbytes)
        staging.host[: x.nbytes] = x.view(np.uint8)
        host, device = staging.host[: x.nbytes], staging.device_memory[: x.nbytes]
        with self.device.lock:
            self.use()
            self.driver.upload(device, host, self.stream)
            put(device.address)
            self.driver.download(host, device, self.stream)
            return LinkWork(self.driver, self.device.mark(self.stream), staging, x)

    def _staging(self, size):
        """Returns unused memory on both sides: that of an earlier call if large enough."""
        for staging in self._stagings:
            if staging.free and staging.host.nbytes >= size:
                staging.free = False
                return staging
        size = max(size, 1)
        self._stagings.append(
            Staging(self.driver.allocate_pinned(size), self.driver.allocate(size))
        )
        return self._stagings[-1]


class Staging:
    """Pinned host memory and as much device memory."""

    def __init__(self, host, device_memory):
        self.host, self.device_memory, self.free = host, device_memory, False


class LinkWork:
    """A sum queued on the stream; once it `is_reached`, `take` fills a host array."""

    def __init__(self, driver, mark, staging=None, x=None):
        self.driver, self.mark, self.staging, self.x = driver, mark, staging, x

    def is_reached(self):
        return self.driver.is_reached(self.mark)

    def take(self):
        if self.staging is not None:
            self.x.view(np.uint8)[:] = self.staging.host[: self.x.nbytes]
            self.staging.free, self.staging = True, None
