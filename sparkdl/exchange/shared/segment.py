"""Memory that several processes map: a file with no name, gone with the last process that has it.

Nothing is left behind whenever a process is killed, and the size of /dev/shm is no limit.
"""

import fcntl
import mmap
import os
import secrets
import struct

from sparkdl.errors import DataError, WorkerError

NAME = "sparkdl-exchange"
TOKEN_BYTES = 16
LOCK = struct.Struct("hhqqi4x")  # of fcntl: type, whence, start, length, process


class Segment:
    """One process's mapping of a piece of shared memory.

    Parameters
    ----------
    file : int
        Descriptor, which this object closes. Each process opens the file for itself: its locks
        hang on that.
    """

    def __init__(self, file):
        self.file, self.memory = file, None

    @classmethod
    def create(cls):
        """Returns a new piece of memory, which begins with a random token until it is sized."""
        segment = cls(os.memfd_create(NAME))
        os.write(segment.file, secrets.token_bytes(TOKEN_BYTES))
        return segment

    @classmethod
    def open(cls, path, token):
        """Returns the Segment of another process, by `path` and `token`, or None.

        None if this process does not see that memory. The path may then name a file of quite
        another process, which must not be opened: opening a pipe or a terminal does something.
        """
        try:
            if not os.readlink(path).startswith(f"/memfd:{NAME}"):
                return None
            segment = cls(os.open(path, os.O_RDWR | os.O_CLOEXEC))
        except OSError:
            return None
        if segment.token == token:
            return segment
        segment.close()
        return None

    @property
    def path(self):
        """The path that other processes of this machine open."""
        return f"/proc/{os.getpid()}/fd/{self.file}"

    @property
    def token(self):
        """The random text by which the right memory is known."""
        return os.pread(self.file, TOKEN_BYTES, 0).hex()

    def allocate(self, nbytes):
        """Takes the memory. Without this a lack of it would kill the process that first writes."""
        try:
            os.ftruncate(self.file, 0)
            os.posix_fallocate(self.file, 0, nbytes)
        except OSError as error:
            raise WorkerError(f"no {nbytes} bytes of shared memory: {error}") from error

    def map(self, nbytes):
        """Makes the memory readable and writable at `.memory`."""
        if os.fstat(self.file).st_size != nbytes:
            raise DataError(f"shared memory must have {nbytes} bytes")
        self.memory = mmap.mmap(self.file, nbytes)

    def hold(self, place):
        """Shows that this process is alive, by a lock which the kernel takes from a dead one."""
        self._lock(fcntl.F_WRLCK, place, 1)

    def is_held(self, place):
        """Returns whether the process that holds `place` is alive."""
        query = LOCK.pack(fcntl.F_WRLCK, 0, place, 1, 0)
        kind, *_ = LOCK.unpack(fcntl.fcntl(self.file, fcntl.F_OFD_GETLK, query))
        return kind != fcntl.F_UNLCK

    def close(self):
        """Lets go. The memory itself lives as long as an array looks at it."""
        if self.file is not None:
            self._lock(fcntl.F_UNLCK, 0, 0)  # the map holds the open file, and so its locks
            os.close(self.file)
        self.file = self.memory = None

    def _lock(self, kind, place, count):
        fcntl.fcntl(self.file, fcntl.F_OFD_SETLK, LOCK.pack(kind, 0, place, count, 0))
