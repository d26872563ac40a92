"""Members of zips of others, read no further than the zip itself may hold."""

import zipfile
import zlib
from io import BytesIO

from sparkdl.data import files
from sparkdl.errors import DataError

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
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            names = archive.namelist()
            return {name: member(archive, name, path) for name in wanted if name in names}, names
    except DataError:
        raise
    except DAMAGE as error:
        raise DataError(f"{path}: cannot be read as a zip: {error}") from error


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
