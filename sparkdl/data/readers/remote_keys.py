"""First and last key of an LMDB on another file system, from the few pages that lead to them.

References
----------
The page layout of LMDB 0.9, lmdb's mdb.c: MDB_page, MDB_node, MDB_meta.
"""

import struct

from sparkdl.data import files
from sparkdl.errors import DataError

META_PAGE, META_DB, DB = (
    16,
    24 + 48,
    struct.Struct("=IHHQQQQQ"),
)  # the main tree, behind the free one
TRANSACTION = 24 + 2 * 48 + 8
MAGIC = 0xBEEFC0DE
PAGE = struct.Struct("=QHHHH")  # number, pad, flags, ends of the free space
NODE = struct.Struct("=HHHH")  # low, high, flags, bytes of the key
BRANCH, LEAF = 1, 2
DEEPEST = 32


def ends(path, file_path):
    """(records, first key, last key) of a file's main tree.

    Raises
    ------
    DataError
        It is no LMDB, or damaged.
    """
    with files.open(file_path) as file:
        try:
            return _ends(file)
        except (struct.error, IndexError):
            raise DataError(f"{path}: must be an LMDB that is whole; copy it again") from None


def _ends(file):
    head = file.read(META_PAGE + TRANSACTION + 8)
    size = struct.unpack_from("=I", head, META_PAGE + 24)[0]
    file.seek(size)
    metas = [head, file.read(len(head))]
    if any(struct.unpack_from("=I", meta, META_PAGE)[0] != MAGIC for meta in metas):
        raise IndexError
    latest = max(metas, key=lambda meta: struct.unpack_from("=Q", meta, META_PAGE + TRANSACTION))
    *_, entries, root = DB.unpack_from(latest, META_PAGE + META_DB)
    if entries == 0:
        return 0, None, None
    return entries, _key(file, size, root, 0), _key(file, size, root, -1)


def _key(file, size, number, end):
    """The key at the first (0) or last (-1) leaf below a page."""
    for _ in range(DEEPEST):
        file.seek(number * size)
        page = file.read(size)
        _, _, flags, lower, _ = PAGE.unpack_from(page)
        count = (lower - PAGE.size) // 2
        if not flags & (BRANCH | LEAF) or count < 1:
            raise IndexError
        (at,) = struct.unpack_from("=H", page, PAGE.size + 2 * (end % count))
        low, high, more, key_size = NODE.unpack_from(page, at)
        if flags & LEAF:
            return page[at + NODE.size : at + NODE.size + key_size]
        number = low | high << 16 | more << 32
    raise IndexError
