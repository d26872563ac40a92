"""Members of zips of others, read no further than the zip itself may hold."""

import zipfile
import zlib
from contextlib import contextmanager
from io import BytesIO

from sparkdl.data import files
from sparkdl.errors import DataError, SparkdlError

GROWTH = 200  # a member may be so many times as long as what is stored of it
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
    KeyError,
    IndexError,
    OverflowError,
)


def read_members(path, wanted):
    """Returns ({name: bytes} of the `wanted` members that are there, names of all members).

    Parameters
    ----------
    path : str
        A file, local or a URI.
    wanted : sequence of str
    """
    with files.open(path) as file:
        content = file.read()
    with open_members(content, path) as archive:
        found = {name: archive.read(name) for name in wanted if name in archive.names}
        return found, archive.names


@contextmanager
def open_members(content, path):
    """Yields the Members of a zip's bytes; what is damaged in it is a DataError."""
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            yield Members(archive, path)
    except SparkdlError:
        raise
    except DAMAGE as error:
        raise DataError(f"{path}: cannot be read as a zip: {error}") from error


class Members:
    """The members of an open zip."""

    def __init__(self, archive, path):
        self.archive, self.path, self.names = archive, path, archive.namelist()

    def read(self, name, growth=GROWTH):
        """Returns the bytes of a member, no more than `growth` times what is stored of it."""
        return member(self.archive, name, self.path, growth)


def member(archive, name, path, growth=GROWTH):
    """Returns a member of a zip, no longer than `growth` times what is stored of it."""
    about = archive.getinfo(name)
    if about.file_size > growth * about.compress_size + 1024:
        raise DataError(f"{path}: {name} claims {about.file_size} bytes of {about.compress_size}")
    with archive.open(about) as file:
        found = file.read(about.file_size + 1)
    if len(found) != about.file_size:
        raise DataError(f"{path}: {name} must have {about.file_size} bytes, got {len(found)}")
    return found
