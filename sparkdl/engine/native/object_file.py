"""Undefined symbols of an object file in the ELF of 64-bit Linux (System V ABI, chapter 4)."""

import numpy as np

HEADER = np.dtype(
    {
        "names": ["sections", "count"],
        "formats": ["<u8", "<u2"],
        "offsets": [0x28, 0x3C],
        "itemsize": 64,
    }
)
SECTION = np.dtype(
    {
        "names": ["type", "start", "size", "link"],
        "formats": ["<u4", "<u8", "<u8", "<u4"],
        "offsets": [4, 24, 32, 40],
        "itemsize": 64,
    }
)
SYMBOL = np.dtype(
    {"names": ["name", "section"], "formats": ["<u4", "<u2"], "offsets": [0, 6], "itemsize": 24}
)
SYMBOLS, UNDEFINED = 2, 0  # a section's type; a symbol's section


def undefined_symbols(code):
    """Returns the names that an object file uses but does not define."""
    [header] = np.frombuffer(code, HEADER, 1)
    sections = np.frombuffer(code, SECTION, int(header["count"]), int(header["sections"]))
    found = []
    for section in sections[sections["type"] == SYMBOLS]:
        count, names = int(section["size"]) // SYMBOL.itemsize, sections[section["link"]]
        symbols = np.frombuffer(code, SYMBOL, count, int(section["start"]))
        starts = symbols["name"][symbols["section"] == UNDEFINED]
        found += [text_at(code, int(names["start"] + start)) for start in starts if start]
    return found


def text_at(code, start):
    return code[start : code.index(b"\0", start)].decode()
