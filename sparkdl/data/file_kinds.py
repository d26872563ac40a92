"""What a path leads to, if not to a file."""

import os
import stat

from sparkdl.data.file_systems import is_local, is_object_store, resolve
from sparkdl.errors import DataError

KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def special_kind(path):
    """Returns "a pipe", "a socket" or "a device" for a local one, or a link to it; else None."""
    if not is_local(path):
        return None
    try:
        kind = stat.S_IFMT(os.stat(resolve(path)[1]).st_mode)
    except (OSError, ValueError):  # opening the file reports it
        return None
    return None if kind in (stat.S_IFREG, stat.S_IFDIR) else KINDS.get(kind, "a device")


def refuse_other_kinds(path, fs, inner):
    """Raises DataError for a folder, pipe or device, whose place a written file would take."""
    is_folder = not is_object_store(path) and fs.isdir(inner)
    if kind := "a folder" if is_folder else special_kind(path):
        raise DataError(f"{path}: must be the path of a file, got {kind}")
