"""Layout of LMDB's files: structures and limits.

A file is a sequence of pages that begin with a PAGE. In each of the first two it is followed by a
META, the DB of the free list, the DB of the main tree, and the numbers of the last page and of the
transaction, 8 bytes each. The one of the later transaction counts.

References
----------
The page layout of LMDB 0.9, lmdb's mdb.c: MDB_page, MDB_node, MDB_meta, MDB_db.
"""

import struct

MAGIC, VERSION = 0xBEEFC0DE, 1
PAGE = struct.Struct("=QHHHH")  # number, pad, flags, ends of the free space
META = struct.Struct("=IIQQ")  # magic, version, address, map size
DB = struct.Struct("=IHHQQQQQ")  # page size, flags, depth, pages of three kinds, entries, root
NODE = struct.Struct("=HHHH")  # low, high, flags, length of the key
BRANCH, LEAF = 1, 2  # page flags
BIG, SUB = 1, 2  # node flags: the value is in overflow pages; it is a named database
SMALLEST_PAGE, LARGEST_PAGE = 512, 65536  # bytes
LONGEST_KEY = 511  # bytes
DEEPEST = 32  # levels of a tree
