"""A temporary file without a name, which goes with its process; names the disk that is full."""

import platform
import tempfile

from sparkdl.errors import WorkerError


class ScratchFile:
    """A file below TMPDIR to append to; `file` is what is read, or mapped into memory.

    Parameters
    ----------
    prefix : str
        Of its name, where the system cannot do without one.
    """

    def __init__(self, prefix):
        # Without a buffer, an error comes with the bytes that it is about.
        self.file = tempfile.TemporaryFile(prefix=prefix, buffering=0)  # noqa: SIM115, lives as we do
        self.nbytes = 0

    def append(self, data):
        """Writes bytes at the end; returns where they start. WorkerError if there is no room."""
        start, left = self.nbytes, memoryview(data)
        self.nbytes += len(left)
        try:
            while len(left):
                left = left[self.file.write(left) :]
        except OSError as error:
            raise WorkerError(
                f"{tempfile.gettempdir()} on {platform.node()}: must take {self.nbytes} bytes of "
                f"records, got: {error.strerror}; make room there, or let TMPDIR be another folder"
            ) from error
        return start

    def close(self):
        self.file.close()
