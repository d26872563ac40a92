"""First and last record of a remote LMDB, found by reading only a few pages."""

import struct
from contextlib import contextmanager

from sparkdl.data import files
from sparkdl.data.readers.lmdb_files.file_layout import (
    BIG,
    BRANCH,
    DB,
    DEEPEST,
    LEAF,
    MAGIC,
    META,
    NODE,
    PAGE,
)
from sparkdl.errors import DataError

TREE = PAGE.size + META.size + DB.size  # offsets in a meta page
TRANSACTION = TREE + DB.size + 8


def ends(path, file_path):
    """Returns (records, first key, last key) of a file's main tree.

    Raises
    ------
    DataError
        If the file is not an LMDB, or is damaged.
    """
    with _tree(path, file_path) as tree:
        if tree.entries == 0:
            return 0, None, None
        return tree.entries, tree.key(0), tree.key(-1)


def first_value(path, file_path):
    """Returns the first record's value, or None without records; raises DataError as `ends`."""
    with _tree(path, file_path) as tree:
        return tree.first_value() if tree.entries else None


@contextmanager
def _tree(path, file_path):
    with files.open(file_path) as file:
        try:
            yield Tree(file)
        except (struct.error, IndexError, OverflowError):  # a place beyond any file's end
            raise DataError(f"{path}: must be an LMDB that is whole; copy it again") from None


class Tree:
    """The main tree of an open LMDB file."""

    def __init__(self, file):
        head = file.read(TRANSACTION + 8)
        self.file, (self.size, *_) = file, DB.unpack_from(head, PAGE.size + META.size)
        metas = [head, self.bytes_of(1, len(head))]
        if any(META.unpack_from(meta, PAGE.size)[0] != MAGIC for meta in metas):
            raise IndexError
        latest = max(metas, key=lambda meta: struct.unpack_from("=Q", meta, TRANSACTION))
        *_, self.entries, self.root = DB.unpack_from(latest, TREE)

    def bytes_of(self, page, count, start=0):
        """Reads `count` bytes, beginning at an offset in a page."""
        self.file.seek(page * self.size + start)
        return self.file.read(count)

    def key(self, end):
        """Returns the key of the first (0) or last (-1) leaf."""
        page, at = self.leaf(end)
        *_, key_size = NODE.unpack_from(page, at)
        return page[at + NODE.size : at + NODE.size + key_size]

    def first_value(self):
        """Returns the value of the first record, from overflow pages if it is long."""
        page, at = self.leaf(0)
        low, high, flags, key_size = NODE.unpack_from(page, at)
        start, count = at + NODE.size + key_size, low | high << 16
        if flags & BIG:
            (number,) = struct.unpack_from("=Q", page, start)
            value = self.bytes_of(number, count, PAGE.size)
        else:
            value = page[start : start + count]
        if len(value) < count:
            raise IndexError
        return value

    def leaf(self, end):
        """Returns (page, offset of the node) of the first (0) or last (-1) key."""
        number = self.root
        for _ in range(DEEPEST):
            page = self.bytes_of(number, self.size)
            _, _, flags, lower, _ = PAGE.unpack_from(page)
            count = (lower - PAGE.size) // 2
            if not flags & (BRANCH | LEAF) or count < 1:
                raise IndexError
            (at,) = struct.unpack_from("=H", page, PAGE.size + 2 * (end % count))
            if flags & LEAF:
                return page, at
            low, high, more, _ = NODE.unpack_from(page, at)
            number = low | high << 16 | more << 32
        raise IndexError
