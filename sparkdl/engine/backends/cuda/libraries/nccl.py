"""NCCL by CuPy: the adapter, and a device's communicator with those of other processes.

NCCL itself reads its environment variables (NCCL_SOCKET_IFNAME, NCCL_IB_HCA, NCCL_DEBUG ...);
whoever starts the processes sets them.
"""

import base64
import warnings
from contextlib import contextmanager
from itertools import pairwise

from sparkdl.engine.backends.cuda.device.cupy_driver import load_cupy
from sparkdl.errors import DeviceError, UnsupportedError

TYPES = {"bfloat16": "NCCL_BFLOAT16", "float16": "NCCL_FLOAT16", "float32": "NCCL_FLOAT32"}


def load_nccl(driver):
    """Returns the Nccl of this process.

    Raises
    ------
    UnsupportedError
        If CuPy or the NCCL library is missing.
    """
    load_cupy()
    with warnings.catch_warnings():  # CuPy's repeats the message below
        warnings.simplefilter("ignore")
        from cupy.cuda import nccl
    if not nccl.available:
        raise UnsupportedError("pip install 'sparkdl-hadoop[gpu]' has it (nvidia-nccl-cu13)")
    return Nccl(nccl)


class Nccl:
    """The adapter of NCCL.

    Parameters
    ----------
    library : module
        cupy.cuda.nccl.
    """

    def __init__(self, library):
        self.library = library
        major, rest = divmod(library.get_version(), 10000)
        self.version = f"{major}.{rest // 100}.{rest % 100}"
        self.name = f"NCCL {self.version}"


class Communicator:
    """One of the devices of several processes, which all make the same calls in the same order.

    Parameters
    ----------
    device : Device
    nccl : Nccl

    Attributes
    ----------
    id : str
        Identifies the device, the same in all processes that see it.
    version : str
        Version of NCCL.
    stream : stream of the driver
        Carries the requests, and nothing else.
    """

    def __init__(self, device, nccl):
        self.device, self.driver, self.stream = device, device.driver, device.driver.stream()
        self.id, self.version = device.driver.properties.id, nccl.version
        self.library, self.members = nccl.library, None

    def invitation(self):
        """Returns the text with which all processes join; one process creates it."""
        return base64.b64encode(self.library.get_unique_id()).decode()

    def join(self, size, invitation, rank):
        """Connects the devices of all ranks. Waits for them, forever if one does not come.

        Raises
        ------
        DeviceError
            With NCCL's message.
        """
        self.use()
        try:
            unique = base64.b64decode(invitation)
            self.members = self.library.NcclCommunicator(size, unique, rank)
        except self.library.NcclError as error:
            raise DeviceError(f"NCCL does not accept {self.id}: {error}") from error

    def use(self):
        """Makes the device current for the calling thread."""
        self.driver.use()

    def check(self):
        """Raises DeviceError if NCCL has failed; only for the thread that may `abort`."""
        try:
            self.members.check_async_error()
        except self.library.NcclError as error:
            raise DeviceError(str(error)) from error

    def abort(self):
        """Aborts all pending exchanges; device work that waits for them gets undefined data."""
        if self.members is not None:
            self.members.abort()

    def destroy(self):
        """Disconnects after success; may wait for the other devices."""
        if self.members is not None:
            self.members.destroy()

    # In place, on numbers at a device address

    def sum(self, address, count, dtype):
        """Replaces numbers by their sum over all ranks."""
        self._put("allReduce", address, address, count, self._type(dtype), self.library.NCCL_SUM)

    def spread(self, address, count, dtype, root):
        """Replaces numbers by those of rank `root`."""
        self._put("broadcast", address, address, count, self._type(dtype), root)

    def sum_pieces(self, address, dtype, edges):
        """Replaces numbers edges[r] to edges[r + 1] on rank r by their sum over all ranks."""
        how = self._type(dtype), self.library.NCCL_SUM
        with self._together():
            for root, (start, stop) in enumerate(pairwise(edges)):
                piece = address + start * dtype.itemsize
                self._put("reduce", piece, piece, stop - start, *how, root)

    def spread_pieces(self, address, dtype, edges):
        """Replaces numbers edges[r] to edges[r + 1], for each r, by those of rank r."""
        with self._together():
            for root, (start, stop) in enumerate(pairwise(edges)):
                self.spread(address + start * dtype.itemsize, stop - start, dtype, root)

    @contextmanager
    def _together(self):
        """Groups several calls: NCCL's own scatter and gather need pieces of equal length."""
        self.library.groupStart()
        try:
            yield
        finally:
            with self._raise_errors("several calls at once"):
                self.library.groupEnd()

    def _put(self, verb, *words):
        def work(stream):
            with self._raise_errors(verb):
                return getattr(self.members, verb)(*words, stream)

        self.driver.enqueue(work, self.stream)

    @contextmanager
    def _raise_errors(self, what):
        """Raises NCCL's errors as DeviceError."""
        try:
            yield
        except self.library.NcclError as error:
            raise DeviceError(f"NCCL refuses {what}: {error}") from error

    def _type(self, dtype):
        return getattr(self.library, TYPES[dtype.name])
