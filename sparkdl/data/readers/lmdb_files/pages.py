"""Checks of the LMDB pages that a read will touch, as LMDB itself trusts their contents.

LMDB is C code on a mapped file: a damaged number in a page makes it read out of bounds, which kills
the process. So this module first walks from the root to the leaves of a range, as LMDB does, and
checks that each page and node lies within bounds.
"""

import os
import struct
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from contextlib import contextmanager
from itertools import pairwise

import numpy as np

from sparkdl.data.readers.lmdb_files.file_layout import (
    BIG,
    BRANCH,
    DB,
    DEEPEST,
    LARGEST_PAGE,
    LEAF,
    LONGEST_KEY,
    META,
    NODE,
    PAGE,
    SMALLEST_PAGE,
    SUB,
)

META_SIZE = PAGE.size + META.size + 2 * DB.size + 16
FIXED_MAP, DUPLICATES, METAS = 1, 4 | 16 | 32, 8
KINDS = 0x6F  # mask of the page flags that give its kind
WORD = 2  # size in bytes of a page's numbers
AT_ONCE = 512  # leaves
MOST_FILES, MOST_BRANCHES = 16, 4096  # numbers of entries that are cached

_trees: OrderedDict[tuple[str | int, ...], "CheckedTree"] = OrderedDict()


class Damage(ValueError):
    """A page that LMDB must not read."""


def check_range(file, first, stop):
    """Raises Damage unless all pages from key `first` to just after key `stop` are valid.

    None stands for the beginning and the end.
    """
    tree_of(file).check(first, stop)


def check_ends(file):
    """Raises Damage unless the pages on the way to the first and last key are valid."""
    tree = tree_of(file)
    for end in (0, -1):
        tree.check_end(end)


def tree_of(file):
    """Returns the cached CheckedTree of the current version of a file."""
    status = os.stat(file)
    key = file, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
    tree = _trees.get(key)
    if tree is None:
        tree = _trees[key] = CheckedTree(file)
        while len(_trees) > MOST_FILES:
            _trees.popitem(last=False)
    return tree


class CheckedTree:
    """The main tree of a file; branches are checked once, leaves for each range.

    Pages are read, not mapped, as a second map would double the address space used.
    """

    def __init__(self, path):
        self.path, self.length = path, os.path.getsize(path)
        self.branches, self.sound = OrderedDict(), set()  # branches; those with valid leaves
        with self._open() as file:
            head = os.pread(file, META_SIZE, 0)
            if len(head) < META_SIZE:
                raise Damage("it is cut short")
            (self.size,) = struct.unpack_from("=I", head, PAGE.size + META.size)
            if not SMALLEST_PAGE <= self.size <= LARGEST_PAGE or self.size % 8:
                raise Damage(f"pages must have {SMALLEST_PAGE} bytes or more, got {self.size}")
            metas = [self._meta(file, number) for number in (0, 1)]
        chosen = metas[metas[0][0] < metas[1][0]]  # the later transaction's
        _, self.depth, self.entries, self.root, self.last = chosen
        if (self.last + 1) * self.size > self.length:
            raise Damage("it is cut short")

    @contextmanager
    def _open(self):
        file = os.open(self.path, os.O_RDONLY)
        try:
            yield file
        finally:
            os.close(file)

    def _meta(self, file, number):
        """Returns (transaction, depth, entries, root, last page) from one of the two meta pages."""
        page = os.pread(file, META_SIZE, number * self.size)
        if len(page) < META_SIZE:
            raise Damage("it is cut short")
        _, _, flags, _, _ = PAGE.unpack_from(page)
        trees = PAGE.size + META.size
        size, free_flags, *_ = DB.unpack_from(page, trees)
        _, kind, depth, *_, entries, root = DB.unpack_from(page, trees + DB.size)
        last, transaction = struct.unpack_from("=QQ", page, trees + 2 * DB.size)
        if not flags & METAS or size != self.size or free_flags & FIXED_MAP or kind & DUPLICATES:
            raise Damage(f"page {number} cannot describe a database")
        if depth > DEEPEST or bool(entries) != bool(depth):
            raise Damage(f"page {number} says that {entries} records lie {depth} pages deep")
        return transaction, depth, entries, root, last

    def check(self, first, stop):
        """Raises Damage unless all pages from key `first` to just after key `stop` are valid."""
        if not self.entries:
            return
        pages = [(b"", self.root)]
        with self._open() as file:
            for _ in range(self.depth - 2):
                pages = self._children(file, pages)
                low = 0 if first is None else max(bisect_right(pages, first, key=key_of) - 1, 0)
                high = None if stop is None else bisect_left(pages, stop, key=key_of) + 2
                pages = pages[low:high]
            self._check_below(file, [number for _, number in pages])

    def _check_below(self, file, numbers):
        """Checks the leaves below given pages in large batches, unless checked before."""
        new = np.array([number for number in numbers if number not in self.sound], np.int64)
        if self.depth == 1:
            self._check_leaves(file, new)
        else:
            for some in batches(new):
                self._check_leaves(file, self._nodes(file, some, BRANCH))
        self.sound.update(new.tolist())

    def check_end(self, end):
        """Raises Damage unless the pages on the way to the first (0) or last (-1) key are valid."""
        if not self.entries:
            return
        with self._open() as file:
            number = self.root
            for _ in range(self.depth - 1):
                number = self._branch(file, number)[end][1]
            self._check_leaves(file, np.array([number]))

    def _children(self, file, pages):
        """Returns [(smallest key, page)] of the children of branches, in key order."""
        found = []
        for key, number in pages:
            (_, leftmost), *others = self._branch(file, number)
            joints = found[-1][0] < key if found else True
            self._require(joints and key < others[0][0], number)
            found += [(key, leftmost), *others]
        return found

    def _branch(self, file, number):
        """Returns [(smallest key, page)] of a branch's children; the first key is meaningless."""
        known = self.branches.get(number)
        if known is None:
            known = self.branches[number] = self._read_branch(file, number)
            if len(self.branches) > MOST_BRANCHES:
                self.branches.popitem(last=False)
        return known

    def _read_branch(self, file, number):
        self._require(2 <= number <= self.last, number)
        page = os.pread(file, self.size, number * self.size)
        self._require(len(page) == self.size, number)
        own, _, flags, lower_end, upper = PAGE.unpack_from(page)
        count = (lower_end - PAGE.size) // WORD
        fits = PAGE.size <= lower_end <= upper <= self.size and count > 1
        self._require(fits and own == number and flags & KINDS == BRANCH, number)
        places = struct.unpack_from(f"={count}H", page, PAGE.size)
        return self._sorted([self._child(page, at, upper, number) for at in places], number)

    def _child(self, page, at, upper, number):
        self._require(upper <= at <= self.size - NODE.size and not at % WORD, number)
        low, high, more, key_size = NODE.unpack_from(page, at)
        start = at + NODE.size
        self._require(key_size <= LONGEST_KEY and start + key_size <= self.size, number)
        return page[start : start + key_size], low | high << 16 | more << 32

    def _sorted(self, children, number):
        keys = [key for key, _ in children[1:]]
        self._require(all(a < b for a, b in pairwise(keys)), number)
        return children

    def _check_leaves(self, file, numbers):
        for some in batches(numbers):
            self._nodes(file, some, LEAF)

    def _nodes(self, file, numbers, kind):
        """Checks many pages at once with numpy.

        Returns the child pages of branches.
        """
        self._require_all((numbers >= 2) & (numbers <= self.last), numbers)
        rows = self._read(file, numbers)
        own = rows[:, :4].copy().view("<u8")[:, 0]
        flags, lower_end, upper = (rows[:, i].astype(np.int64) for i in (5, 6, 7))
        counts = (lower_end - PAGE.size) // WORD
        fits = (lower_end >= PAGE.size) & (lower_end <= upper) & (upper <= self.size)
        fits &= (flags & KINDS == kind) & (own == numbers) & (counts > (kind == BRANCH))
        self._require_all(fits, numbers)
        owner = np.repeat(np.arange(len(numbers)), counts)
        starts = owner * rows.shape[1]
        inside = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        at = rows.reshape(-1)[starts + inside + PAGE.size // WORD].astype(np.int64)
        fits = (at >= upper[owner]) & (at <= self.size - NODE.size) & (at & 1 == 0)
        self._require_all(fits, numbers, owner)
        look = self._children_of if kind == BRANCH else self._check_values
        return look(rows.reshape(-1), at, starts + at // WORD, numbers, owner)

    def _children_of(self, words, at, places, numbers, owner):
        """Checks the nodes of branches, and returns their child pages."""
        low, high, more, key_size = (words[places + i].astype(np.int64) for i in range(4))
        fits = (key_size <= LONGEST_KEY) & (at + NODE.size + key_size <= self.size)
        self._require_all(fits, numbers, owner)
        return low | high << 16 | more << 32

    def _check_values(self, words, at, places, numbers, owner):
        """Checks that the keys and values of leaves lie within their pages."""
        low, high, flags, key_size = (words[places + i].astype(np.int64) for i in range(4))
        count, end = low | high << 16, at + NODE.size + key_size
        self._refuse_names(words.view(np.uint8), places, flags, key_size)
        end += np.where(flags == BIG, 8, count)
        fits = (flags <= BIG) & (key_size <= LONGEST_KEY) & (end <= self.size)
        self._require_all(fits, numbers, owner)
        big = np.flatnonzero(flags == BIG)
        if len(big):
            start = places[big] * WORD + NODE.size + key_size[big]
            self._check_big(words.view(np.uint8), start, count[big], numbers, owner[big])

    def _refuse_names(self, octets, places, flags, key_size):
        """Raises Damage with a clear message if a value is a named database."""
        for i in np.flatnonzero(flags == SUB)[:1]:
            start = places[i] * WORD + NODE.size
            name = octets[start : start + key_size[i]].tobytes().decode(errors="backslashreplace")
            raise Damage(
                f"its records lie in a named database within it, {name!r}, and only those without "
                "a name are read"
            )

    def _read(self, file, numbers):
        """Returns pages as rows of 16-bit words; consecutive pages are read with one call."""
        rows = np.empty((len(numbers), self.size // WORD), "<u2")
        starts = np.flatnonzero(np.diff(numbers, prepend=-2) != 1).tolist()
        for start, stop in zip(starts, [*starts[1:], len(numbers)], strict=True):
            part = memoryview(rows[start:stop]).cast("B")
            if os.preadv(file, [part], int(numbers[start]) * self.size) < len(part):
                raise Damage("it is cut short")
        return rows

    def _check_big(self, octets, places, counts, numbers, owner):
        """Checks that values in overflow pages lie within the file."""
        pages = octets[places[:, np.newaxis] + np.arange(8)].view("<u8")[:, 0]
        self._require_all((pages >= 2) & (pages <= self.last), numbers, owner)
        need = (PAGE.size + counts + self.size - 1) // self.size
        self._require_all(pages.astype(np.int64) + need - 1 <= self.last, numbers, owner)

    def _require(self, holds, number):
        if not holds:
            raise Damage(f"page {number} is damaged")

    def _require_all(self, fits, numbers, owner=None):
        if not fits.all():
            place = int(np.argmin(fits))
            raise Damage(f"page {numbers[place if owner is None else owner[place]]} is damaged")


def batches(numbers):
    """Yields slices of at most AT_ONCE numbers."""
    for start in range(0, len(numbers), AT_ONCE):
        yield numbers[start : start + AT_ONCE]


def key_of(child):
    return child[0]
