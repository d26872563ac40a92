"""Kernels of a hash table with open addressing, whose keys are pairs of a table and an id.

An entry is an int32: the index of a key among the known keys, or -1. Kernels are single-threaded,
as entries depend on earlier ones. Tables are int16, ids int64, at least 0; -1 means no key. Large
tables exceed every cache, and the next access of a key depends on the entry before it. So AT_ONCE
keys are processed together: their entries are prefetched, then the known keys that these refer to.
"""

from contextlib import contextmanager
from functools import cache

import numpy as np

from sparkdl.engine.native.calls import addresses, call_once
from sparkdl.engine.native.control import FIRST, counting, least, module, pointer, word
from sparkdl.engine.native.jit import compiler
from sparkdl.engine.native.llvm_code import LANES, Code
from sparkdl.engine.native.memory import below, load, prefetch, store

GOLDEN = 0x9E3779B97F4A7C15
AT_ONCE = 32  # keys: as many cache misses as a core has in flight; more do no harm
TABLE, ID, PLACE, ROW = (np.dtype(name) for name in ("int16", "int64", "int32", "float32"))
MIXERS = (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)


def find(keys, known, entries, places, by_ids=False):
    """Writes the index (n,) int64 of each key among the known ones, -1 for unknown keys.

    `by_ids` means that all keys are of one table, so that comparing ids is enough.
    """
    n, size = len(places), len(entries)
    operands = *pairs(keys, n), *pairs(known), (entries, PLACE, size), (places, ID, n)
    run(find_text(by_ids), n, size, operands=operands)


def enter(known, entries, start, stop):
    """Inserts the known keys from start below stop, which must be new."""
    size = len(entries)
    run(enter_text(), start, stop, size, operands=(*pairs(known, stop), (entries, PLACE, size)))


def number(keys, entries, firsts, numbers):
    """Numbers keys in order of first appearance; returns the count of distinct keys.

    Parameters
    ----------
    entries : int32, all -1, more than there are keys
    firsts, numbers : (n,) int64
        Filled with the first position of each number, and the number of each key, -1 for none.
    """
    n, size, count = len(numbers), len(entries), np.zeros(1, np.int64)
    written = (firsts, ID, n), (numbers, ID, n), (count, ID, 1)
    run(number_text(), n, size, operands=(*pairs(keys, n), (entries, PLACE, size), *written))
    return int(count[0])


def add_rows(parts, numbers, sums):
    """Adds rows to the rows of sums (u, d) given by numbers (n,); rows with -1 are skipped.

    The rows are in several arrays (m, d), one after the other.
    """
    length, stops = sums.shape[1], np.cumsum([len(rows) for rows in parts])
    places = addresses("hash table", [(rows, ROW, len(rows) * length) for rows in parts])
    operands = (numbers, ID, int(stops[-1])), (stops, ID, 0), (places, ID, 0), (sums, ROW, 0)
    run(add_text(), len(parts), length, operands=operands)


def pairs(keys, size=None):
    """Returns the operands of keys: their tables and their ids."""
    tables, ids = keys
    size = len(ids) if size is None else size
    return (tables, TABLE, size), (ids, ID, size)


def run(text, *numbers, operands):
    """Calls a kernel; UnsupportedError if nothing can be compiled, see `jit.compiler`."""
    call_once(compiler().function(text), "hash table", numbers, operands)


@cache
def find_text(by_ids):
    code = Code()
    count, size = word(code, FIRST), word(code, FIRST + 1)
    tables, ids, known_tables, known_ids, entries, places = arrays_of(code, FIRST + 2, 6)
    with several(code, "0", count, (tables, ids), entries, size) as (each, homes):
        with each() as i:
            entry = get(code, "i64", homes, i)
            for at in (entry, after(code, entry, size)):  # every second key is one entry further
                place = code.define(f"sext i32 {get(code, 'i32', entries, at)} to i64")
                prefetch(code, code.pointer(known_ids, "i64", place))
                if not by_ids:
                    prefetch(code, code.pointer(known_tables, "i16", place))
        with each() as i:
            key, home = key_at(code, tables, ids, i), get(code, "i64", homes, i)
            known = (None if by_ids else known_tables), known_ids
            _, place = probe(code, home, entries, size, (key, *known))
            put(code, "i64", place, places, i)
    return module(code)


@cache
def enter_text():
    code = Code()
    start, stop, size = (word(code, FIRST + i) for i in range(3))
    tables, ids, entries = arrays_of(code, FIRST + 3, 3)
    with several(code, start, stop, (tables, ids), entries, size) as (each, homes):
        with each() as i:
            entry, _ = probe(code, get(code, "i64", homes, i), entries, size)
            put(code, "i32", code.define(f"trunc i64 {i} to i32"), entries, entry)
    return module(code)


@contextmanager
def several(code, start, stop, keys, entries, size):
    """Prefetches entries of AT_ONCE keys; yields (a loop over these keys, their homes by i)."""
    kept = code.define(f"alloca [{AT_ONCE} x i64]")
    with counting(code, start, stop, AT_ONCE) as first:
        last = least(code, code.define(f"add i64 {first}, {AT_ONCE}"), stop)
        homes = code.pointer(kept, "i64", code.define(f"sub i64 0, {first}"))
        with counting(code, first, last, 1) as i:
            home = home_of(code, key_at(code, *keys, i), size)
            put(code, "i64", home, homes, i)
            prefetch(code, code.pointer(entries, "i32", home))
        yield lambda: counting(code, first, last, 1), homes


@cache
def number_text():
    code = Code()
    length, size = word(code, FIRST), word(code, FIRST + 1)
    tables, ids, entries, firsts, numbers, count = arrays_of(code, FIRST + 2, 6)
    with counting(code, "0", length, 1) as i:
        key, none, search, new, old, done = key_at(code, tables, ids, i), *labels(code, 5)
        code.add(f"br i1 {negative(code, key[1])}, label %{none}, label %{search}\n{none}:")
        put(code, "i64", -1, numbers, i)
        code.add(f"br label %{done}\n{search}:")
        home = home_of(code, key, size)
        entry, place = probe(code, home, entries, size, (key, tables, ids))
        code.add(f"br i1 {negative(code, place)}, label %{new}, label %{old}\n{new}:")
        put(code, "i32", code.define(f"trunc i64 {i} to i32"), entries, entry)
        following = code.define(f"load i64, ptr {count}")
        put(code, "i64", i, firsts, following)
        put(code, "i64", following, numbers, i)
        put(code, "i64", code.define(f"add i64 {following}, 1"), count, 0)
        code.add(f"br label %{done}\n{old}:")
        put(code, "i64", get(code, "i64", numbers, place), numbers, i)
        code.add(f"br label %{done}\n{done}:")
    return module(code)


@cache
def add_text():
    code = Code()
    count, length = word(code, FIRST), word(code, FIRST + 1)
    numbers, stops, parts, sums = arrays_of(code, FIRST + 2, 4)
    rest = code.define(f"and i64 {length}, {LANES - 1}")
    full, tail = code.define(f"sub i64 {length}, {rest}"), below(code, rest)
    some = code.define(f"icmp ne i64 {rest}, 0")
    start = code.define("alloca i64")
    put(code, "i64", 0, start, 0)
    with counting(code, "0", count, 1) as part:
        first, stop = get(code, "i64", start, 0), get(code, "i64", stops, part)
        rows = get(code, "ptr", parts, part)
        with counting(code, first, stop, 1) as i:
            add, last, done = labels(code, 3)
            place = get(code, "i64", numbers, i)
            code.add(f"br i1 {negative(code, place)}, label %{done}, label %{add}\n{add}:")
            own = code.define(f"sub i64 {i}, {first}")
            term, total = (
                code.pointer(base, "float", code.define(f"mul i64 {k}, {length}"))
                for base, k in ((rows, own), (sums, place))
            )
            with counting(code, "0", full, LANES) as j:
                add_lanes(code, term, total, j, None)
            code.add(f"br i1 {some}, label %{last}, label %{done}\n{last}:")
            add_lanes(code, term, total, full, tail)
            code.add(f"br label %{done}\n{done}:")
        put(code, "i64", stop, start, 0)
    return module(code)


def add_lanes(code, term, total, index, mask):
    old, more = (load(code, "float32", base, index, mask) for base in (total, term))
    store(code, old + more, total, index, mask)


def probe(code, home, entries, size, wanted=None):
    """Probes from an entry to a key or a free entry; returns (the entry, the index or -1).

    `wanted` is (the key, known tables or None, known ids); without it only a free entry ends the
    search.
    """
    before, top, taken, advance, done = labels(code, 5)
    entry, following = code.name(), code.name()
    code.add(f"br label %{before}\n{before}:\n  br label %{top}\n{top}:")
    code.add(f"{entry} = phi i64 [{home}, %{before}], [{following}, %{advance}]")
    place = code.define(f"sext i32 {get(code, 'i32', entries, entry)} to i64")
    code.add(f"br i1 {negative(code, place)}, label %{done}, label %{taken}\n{taken}:")
    equal = "false" if wanted is None else is_key(code, place, *wanted)
    code.add(f"br i1 {equal}, label %{done}, label %{advance}\n{advance}:")
    code.add(f"{following} = add i64 {after(code, entry, size)}, 0")
    code.add(f"br label %{top}\n{done}:")
    return entry, place


def after(code, entry, size):
    """Returns the next entry, after the last one the first."""
    following = code.define(f"add i64 {entry}, 1")
    wraps = code.define(f"icmp eq i64 {following}, {size}")
    return code.define(f"select i1 {wraps}, i64 0, i64 {following}")


def is_key(code, place, key, tables, ids):
    """Returns whether the known key at an index is `key`; without tables, whether its id is."""
    if tables is None:
        return code.define(f"icmp eq i64 {get(code, 'i64', ids, place)}, {key[1]}")
    pairs_ = zip(("i16", "i64"), key_at(code, tables, ids, place), key, strict=True)
    same = [code.define(f"icmp eq {type_} {known}, {own}") for type_, known, own in pairs_]
    return code.define(f"and i1 {same[0]}, {same[1]}")


def home_of(code, key, size):
    """Returns the entry where probing begins; see `id_index.hash_keys`."""
    table = code.define(f"zext i16 {key[0]} to i64")
    steps = code.define(f"mul i64 {code.define(f'add i64 {table}, 1')}, {signed(GOLDEN)}")
    x = code.define(f"add i64 {key[1]}, {steps}")
    for bits, factor in MIXERS:
        x = code.define(f"mul i64 {shift_xor(code, x, bits)}, {signed(factor)}")
    high = code.define(f"lshr i64 {shift_xor(code, x, 31)}, 32")
    return code.define(f"lshr i64 {code.define(f'mul i64 {high}, {size}')}, 32")


def shift_xor(code, x, bits):
    return code.define(f"xor i64 {x}, {code.define(f'lshr i64 {x}, {bits}')}")


def signed(word_):
    return int(np.uint64(word_).astype(np.int64))


def key_at(code, tables, ids, index):
    """Returns (table, id) at an index."""
    return get(code, "i16", tables, index), get(code, "i64", ids, index)


def get(code, type_, base, index):
    return code.define(f"load {type_}, ptr {code.pointer(base, type_, index)}")


def put(code, type_, value, base, index):
    code.add(f"store {type_} {value}, ptr {code.pointer(base, type_, index)}")


def negative(code, number_):
    return code.define(f"icmp slt i64 {number_}, 0")


def labels(code, count):
    return [code.name()[1:] for _ in range(count)]


def arrays_of(code, first, count):
    return [pointer(code, first + i) for i in range(count)]
