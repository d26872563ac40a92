"""Table files shared by the checkpoints of a folder, so that each is copied there only once."""

import os
import re
from contextlib import suppress

from sparkdl.data import files
from sparkdl.errors import CheckpointError, DataError
from sparkdl.training.saving.table_file import known_among

FOLDER = "tables"  # beside the checkpoints
DIGEST = re.compile(r"[0-9a-f]{64}")
NAME = re.compile(rf"({DIGEST.pattern})\.safetensors")  # by its SHA-256


class TablePool:
    """The shared files of a folder of checkpoints, each named by its checksum.

    A file that another process has copied is verified before it is shared further.

    Parameters
    ----------
    folder : str
        Of the checkpoints.
    """

    def __init__(self, folder):
        folder = os.path.realpath(folder) if files.is_local(folder) else folder
        self.path = f"{files.absolute(folder)}/{FOLDER}"
        self._verified = set()  # paths

    def place(self, sha256):
        """Returns the path of the file with a checksum."""
        return f"{self.path}/{sha256}.safetensors"

    def exists(self):
        """Returns whether any checkpoint has shared a file."""
        return files.is_directory(self.path)

    def add(self, file):
        """Copies a TableFile and verifies the copy, unless it is already there."""
        path = self.place(file.sha256)
        if not self._has(path, file):
            with files.atomic_path(path) as temporary:
                file.copy_to(temporary)
                file.verify(temporary)
        self._verified.add(path)

    def _has(self, path, file):
        """Returns whether the file is there and intact; resumed fits have verified theirs."""
        if file.path == path:
            return True
        if size_of(path) != file.bytes:
            return False
        if path in self._verified:
            return True
        with suppress(CheckpointError):
            file.verify(path)
            return True
        return False

    def prune(self, wanted):
        """Removes all files except those with these checksums and those in use by this process."""
        present = filter(None, map(NAME.fullmatch, files.list(self.path)))
        others = {self.place(match[1]) for match in present if match[1] not in wanted}
        for path in sorted(others - known_among(others)):
            files.remove(path)

    def remove_unfinished(self):
        """Removes unfinished copies of killed fits."""
        for name in files.list(self.path) if self.exists() else ():
            beside, _ = files.parse_hidden(name) or ("", "")
            if NAME.fullmatch(beside):
                files.remove(f"{self.path}/{name}")


def size_of(path):
    """Returns the bytes of a file, None if it does not exist."""
    with suppress(DataError):
        return files.size(path)
