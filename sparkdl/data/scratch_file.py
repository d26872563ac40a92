"""Unnamed temporary file, which vanishes with its process; errors name a full disk."""

import platform
import tempfile

from sparkdl.errors import WorkerError


class ScratchFile:
    """An append-only file below TMPDIR; `file` can be read or memory-mapped.

    Parameters
    ----------
    prefix : str
        Prefix of its name, on systems that require one.
    """

    def __init__(self, prefix):
        # Unbuffered, so that an error occurs with the write that causes it.
        self.file = tempfile.TemporaryFile(prefix=prefix, buffering=0)  # noqa: SIM115, lives as we do
        self.nbytes = 0

    def append(self, data):
        """Appends bytes; returns their offset. Raises WorkerError if there is no room."""
        start, left = self.nbytes, memoryview(data)
        self.nbytes += len(left)
        try:
            while len(left):
                left = left[self.file.write(left) :]
        except OSError as error:
            raise WorkerError(
                f"{tempfile.gettempdir()} on {platform.node()}: must have room for {self.nbytes} "
                f"bytes of records, got: {error.strerror}; make room there, or let TMPDIR be "
                "another folder"
            ) from error
        return start

    def close(self):
        self.file.close()
