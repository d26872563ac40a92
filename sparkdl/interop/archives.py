"""Members of zips of others, read no further than the zip itself may hold."""

import zipfile
import zlib
from contextlib import contextmanager
from io import BytesIO

from sparkdl.data.whole_files import read_whole
from sparkdl.errors import DataError, SparkdlError, brief
from sparkdl.interop.json_member import LONGEST

# A member may be so many times as long as what is stored of it: all that deflate can, for the zeros
# of an updater that has not begun. That is some times the weights; so all members that are read may
# be so many times as long as the zip, and so many bytes longer.
GROWTH, TIMES, BESIDES = 1100, 10, 64 << 20
TEXT, TEXT_GROWTH, SMALL = ".json", 200, 1 << 20  # texts, and how long small ones may be anyway
PIECE = 1 << 20  # bytes that are read at once
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
    content = read_whole(path)
    with open_members(content, path) as archive:
        found = {name: archive.read(name) for name in wanted if name in archive.names}
        return found, archive.names


@contextmanager
def open_members(content, path):
    """Yields the Members of a zip's bytes; what is damaged in it is a DataError."""
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            check_places(archive, len(content), path)
            yield Members(archive, path, TIMES * len(content) + BESIDES)
    except SparkdlError:
        raise
    except DAMAGE as error:
        raise DataError(f"{path}: cannot be read as a zip: {error}") from error


def check_places(archive, length, path):
    """Refuses members that cannot lie in a zip of `length` bytes one beside the other."""
    total = 0
    for about in archive.infolist():
        total += about.compress_size
        if about.compress_size > length - about.header_offset or total > length:
            raise DataError(
                f"{path}: {brief(about.filename)} claims {about.compress_size} bytes of a zip of "
                f"{length}, which cannot lie there"
            )
        stored = about.compress_type == zipfile.ZIP_STORED
        if stored and about.file_size != about.compress_size:
            raise DataError(
                f"{path}: {brief(about.filename)} claims {about.file_size} bytes of "
                f"{about.compress_size}, but is not compressed"
            )


class Members:
    """The members of an open zip, of which `left` bytes may still be read."""

    def __init__(self, archive, path, left):
        self.archive, self.path, self.names = archive, path, archive.namelist()
        self.left = left

    def read(self, name, growth=GROWTH):
        """Returns the bytes of a member, no more than `growth` times what is stored of it.

        Small texts of JSON may be any times as long.
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
        """Returns the bytes of a member, which must have as many as it claims."""
        found, length = BytesIO(), 0  # which has one copy
        with self.archive.open(about) as file:
            while length <= about.file_size and (piece := file.read(PIECE)):
                length += found.write(piece)
        if length != about.file_size:
            need = f"must have {about.file_size} bytes, got {length}"
            raise DataError(f"{self.path}: {brief(about.filename)} {need}")
        return found.getvalue()
