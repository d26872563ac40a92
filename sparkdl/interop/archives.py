"""Reads of members of untrusted zip files, limited by the size of the zip itself."""

import zipfile
import zlib
from contextlib import contextmanager
from io import BytesIO

from sparkdl.data.whole_files import read_whole
from sparkdl.errors import DataError, SparkdlError, brief
from sparkdl.interop.json_member import LONGEST

# A member may expand to GROWTH times its compressed size: the most that deflate achieves, as for
# the zeros of an updater that has not begun. The updater state is a few times the size of the
# weights, so all members together may have TIMES the size of the zip, plus BESIDES.
GROWTH, TIMES, BESIDES = 1100, 10, 64 << 20
TEXT, TEXT_GROWTH, SMALL = ".json", 200, 1 << 20  # texts: their growth; bytes of small ones
PIECE = 1 << 20  # bytes per read
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
    """Returns ({name: bytes} of the `wanted` members that exist, names of all members).

    Parameters
    ----------
    path : str
        A file, local or a URI.
    wanted : sequence of str
    """
    content = read_whole(path)
    with open_members(content, path) as archive:
        found = {name: archive.read(name) for name in wanted if name in archive.names}
        return found, archive.names


@contextmanager
def open_members(content, path):
    """Yields the Members of a zip's bytes; damage in it is a DataError."""
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            check_places(archive, len(content), path)
            yield Members(archive, path, TIMES * len(content) + BESIDES)
    except SparkdlError:
        raise
    except DAMAGE as error:
        raise DataError(f"{path}: cannot be read as a zip: {error}") from error


def check_places(archive, length, path):
    """Raises DataError if the members cannot fit into a zip of `length` bytes without overlap."""
    total = 0
    for about in archive.infolist():
        total += about.compress_size
        if about.compress_size > length - about.header_offset or total > length:
            raise DataError(
                f"{path}: {brief(about.filename)} claims {about.compress_size} bytes of a zip of "
                f"{length}, which do not fit into it"
            )
        stored = about.compress_type == zipfile.ZIP_STORED
        if stored and about.file_size != about.compress_size:
            raise DataError(
                f"{path}: {brief(about.filename)} claims {about.file_size} bytes of "
                f"{about.compress_size}, but is not compressed"
            )


class Members:
    """The members of an open zip, of which `left` more bytes may be read."""

    def __init__(self, archive, path, left):
        self.archive, self.path, self.names = archive, path, archive.namelist()
        self.left = left

    def read(self, name, growth=GROWTH):
        """Returns the bytes of a member, at most `growth` times its compressed size.

        Small JSON texts may exceed that.
        """
        about = self.archive.getinfo(name)
        longest = growth * about.compress_size + 1024
        if name.endswith(TEXT):
            longest = min(LONGEST, TEXT_GROWTH * about.compress_size + SMALL)
        if about.file_size > min(longest, self.left):
            most = f"{TIMES} times the zip and {BESIDES >> 20} MiB for all members"
            raise DataError(
                f"{self.path}: {brief(name)} claims {about.file_size} bytes of "
                f"{about.compress_size}, which is too much; at most {most}. Write the zip anew "
                "without compression if it is your own"
            )
        self.left -= about.file_size
        return self._content(about)

    def _content(self, about):
        """Returns the bytes of a member, which must have its stated size."""
        found, length = BytesIO(), 0  # avoids a second copy
        with self.archive.open(about) as file:
            while length <= about.file_size and (piece := file.read(PIECE)):
                length += found.write(piece)
        if length != about.file_size:
            need = f"must have {about.file_size} bytes, got {length}"
            raise DataError(f"{self.path}: {brief(about.filename)} {need}")
        return found.getvalue()
