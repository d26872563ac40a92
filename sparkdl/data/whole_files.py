"""Reads of whole untrusted files, up to a size limit."""

from sparkdl.data import files
from sparkdl.data.file_kinds import special_kind
from sparkdl.errors import DataError


def read_whole(path, most=None):
    """Reads a whole file, local or a URI.

    Raises
    ------
    DataError
        If it cannot be read, has more than `most` bytes, or is a pipe or device, which may be
        endless.
    """
    refuse_endless(path)
    with files.open(path, "rb") as file:
        content = file.read() if most is None else file.read(most + 1)
    if most is not None and len(content) > most:
        raise DataError(f"{path}: must have at most {most} bytes, got more")
    return content


def refuse_endless(path):
    """Raises DataError for a local pipe, socket or device, or a link to one."""
    if kind := special_kind(path):
        raise DataError(f"{path}: must be a file, got {kind}")
