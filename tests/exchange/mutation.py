"""Mutates bytes in ways that tend to expose bugs in parsers."""

import json
import struct

EDGES = [
    0,
    1,
    2,
    0x7F,
    0x80,
    0xFF,
    1 << 15,
    1 << 16,
    1 << 31,
    1 << 32,
    (1 << 63) - 1,
    (1 << 64) - 1,
]
WORDS = [b"SDL1", b"sparkdl1", b"[", b"]", b"{", b"}", b'"', b",", b"-", b"1e999", b"NaN", b"null",
         b'"|O"', b'"<f8"', b"99999999999999999999", b"\xff\xfe", b"\x00" * 24]  # fmt: skip

VALUES = [None, True, -1, 0, 1 << 63, 1.5, 1e308, "", "x", [], [1], [[1]], {}, {"a": 1}]


def mutated(data, rng):
    """Returns the bytes after one to four changes, which may cancel out; rng is a random.Random."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        rng.choice(CHANGES)(data, rng)
    return bytes(data)


def json_mutated(data, rng):
    """Returns a JSON text with another value at one of its places; None for other bytes."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    left, places = [document], []
    while left:
        holder = left.pop()
        if isinstance(holder, dict | list):
            keys = holder if isinstance(holder, dict) else range(len(holder))
            places += [(holder, key) for key in keys]
            left += [holder[key] for key in keys]
    if not places:
        return None
    holder, key = rng.choice(places)
    holder[key] = rng.choice(VALUES)
    return json.dumps(document).encode()


def garbage(rng, longest=2000):
    """Returns random bytes, or zeros."""
    n = rng.randint(0, longest)
    return bytes(n) if rng.random() < 0.1 else rng.randbytes(n)


def flip(data, rng):
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def edge(data, rng):
    """Writes a boundary value into the bytes, in one of four widths."""
    kind, at = rng.choice("BHIQ"), rng.randint(0, len(data))
    number = struct.pack("<" + kind, rng.choice(EDGES) & ((1 << 8 * struct.calcsize(kind)) - 1))
    data[at : at + len(number)] = number


def cut(data, rng):
    del data[rng.randint(0, len(data)) :]


def drop(data, rng):
    at = rng.randint(0, len(data))
    del data[at : at + rng.randint(1, 32)]


def insert(data, rng):
    at = rng.randint(0, len(data))
    data[at:at] = rng.choice([rng.choice(WORDS), garbage(rng, 64)])


def repeat(data, rng):
    at = rng.randint(0, len(data))
    piece = data[at : at + rng.randint(1, 64)]
    data[at:at] = piece * rng.randint(1, 50)


def swap(data, rng):
    at = rng.randint(0, len(data))
    data[:] = data[at:] + data[:at]


CHANGES = [flip, edge, cut, drop, insert, repeat, swap]
