"""Shared memory segment: an unnamed file that vanishes with the last process that maps it.

Nothing is left behind when processes are killed, and the size of /dev/shm does not matter.
"""

import fcntl
import mmap
import os
import secrets
import struct
from contextlib import contextmanager

from sparkdl.errors import DataError, WorkerError

NAME = "sparkdl-exchange"
TOKEN_BYTES = 16
LOCK = struct.Struct("hhqqi4x")  # struct flock of fcntl: type, whence, start, length, process


class Segment:
    """One process's handle of a shared memory segment.

    Parameters
    ----------
    file : int
        Descriptor, closed by this object. Each process must open the file itself, as its locks
        belong to the open file.
    """

    def __init__(self, file):
        self.file, self.memory = file, None

    @classmethod
    def create(cls):
        """Creates a segment; it holds a random token until it is allocated."""
        segment = cls(os.memfd_create(NAME))
        with segment._closing_on_error():
            os.write(segment.file, secrets.token_bytes(TOKEN_BYTES))
        return segment

    @classmethod
    def open(cls, path, token):
        """Returns the segment at another process's `path` if it has `token`, else None.

        If this process does not see that memory, the path may name an unrelated file, which must
        not be opened: opening a pipe or a terminal can have side effects.
        """
        try:
            if not os.readlink(path).startswith(f"/memfd:{NAME}"):
                return None
            segment = cls(os.open(path, os.O_RDWR | os.O_CLOEXEC))
        except OSError:
            return None
        with segment._closing_on_error():
            if segment.token == token:
                return segment
        segment.close()
        return None

    @property
    def path(self):
        """Path at which other processes of this machine can open the segment."""
        return f"/proc/{os.getpid()}/fd/{self.file}"

    @property
    def token(self):
        """Random text that identifies the segment."""
        return os.pread(self.file, TOKEN_BYTES, 0).hex()

    def allocate(self, nbytes):
        """Allocates the memory.

        Otherwise a shortage would kill the first process that writes to it.
        """
        try:
            os.ftruncate(self.file, 0)
            os.posix_fallocate(self.file, 0, nbytes)
        except OSError as error:
            raise WorkerError(f"no {nbytes} bytes of shared memory: {error}") from error

    def map(self, nbytes):
        """Maps the memory, readable and writable, as `.memory`."""
        size = os.fstat(self.file).st_size
        if size != nbytes:
            raise DataError(f"shared memory must have {nbytes} bytes, got {size}")
        self.memory = mmap.mmap(self.file, nbytes)

    def hold(self, place):
        """Marks this process as alive by a lock, which the kernel releases when it dies."""
        self._lock(fcntl.F_WRLCK, place, 1)

    def is_held(self, place):
        """Returns whether the process at `place` is alive, that is, holds its lock."""
        query = LOCK.pack(fcntl.F_WRLCK, 0, place, 1, 0)
        kind, *_ = LOCK.unpack(fcntl.fcntl(self.file, fcntl.F_OFD_GETLK, query))
        return kind != fcntl.F_UNLCK

    def close(self):
        """Releases lock and file. The memory itself lives as long as an array refers to it."""
        if self.file is not None:
            self._lock(fcntl.F_UNLCK, 0, 0)  # the mapping keeps the open file, hence its locks
            os.close(self.file)
        self.file = self.memory = None

    @contextmanager
    def _closing_on_error(self):
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _lock(self, kind, place, count):
        fcntl.fcntl(self.file, fcntl.F_OFD_SETLK, LOCK.pack(kind, 0, place, count, 0))
