"""Reader of Java's serialized objects, limited to tuples of strings and numbers.

It creates only str, int, float, bool and lists, and runs no code, whatever the bytes say.

References
----------
Java Object Serialization Specification, chapter 6.
"""

import struct

MAGIC = b"\xac\xed\x00\x05"
NULL, REFERENCE, CLASS, OBJECT, STRING, END = 0x70, 0x71, 0x72, 0x73, 0x74, 0x78
FIRST_HANDLE = 0x7E0000
PLAIN = 2  # flag of a class without a custom form
PRIMITIVES = {"B": "b", "C": "H", "D": "d", "F": "f", "I": "i", "J": "q", "S": "h", "Z": "?"}
DEEPEST = 16


def read_object(content):
    """Returns the object: a str, None, a number, or else the list of its fields' values.

    Raises
    ------
    ValueError
        If it is of another kind, or truncated.
    """
    if bytes(content[:4]) != MAGIC:
        raise ValueError(f"no Java object, but {bytes(content[:8])!r}")
    try:
        return _Stream(content).object()
    except (struct.error, IndexError, KeyError, TypeError, UnicodeDecodeError):
        raise ValueError("a Java object that is cut short or damaged") from None


class _Stream:
    def __init__(self, content):
        self._content, self._at, self._handles = content, len(MAGIC), []

    def object(self, depth=0):
        if depth > DEEPEST:
            raise ValueError("a Java object that is nested too deeply")
        tag = self._number("B")
        if tag == NULL:
            return None
        if tag == REFERENCE:
            return self._handles[self._number("i") - FIRST_HANDLE]
        if tag == STRING:
            self._handles.append(self._string())
            return self._handles[-1]
        if tag == OBJECT:
            return self._fields(depth)
        raise ValueError(f"a Java object of kind {tag:#x}, which is neither string nor tuple")

    def _fields(self, depth):
        name, fields = self._class(depth)
        place = len(self._handles)
        self._handles.append(None)
        values = [
            self._number(PRIMITIVES[kind]) if kind in PRIMITIVES else self.object(depth + 1)
            for kind in fields
        ]
        boxed = name.startswith("java.lang.") and len(values) == 1
        self._handles[place] = values[0] if boxed else values
        return self._handles[place]

    def _class(self, depth):
        """Returns (name, kinds of fields) of a class, with superclass fields first."""
        tag = self._number("B")
        if tag == NULL or depth > DEEPEST:
            return "", []
        if tag == REFERENCE:
            return self._handles[self._number("i") - FIRST_HANDLE]
        if tag != CLASS:
            raise ValueError(f"a Java class of kind {tag:#x}")
        name, _ = self._string(), self._number("q")
        place = len(self._handles)
        self._handles.append(None)
        if self._number("B") != PLAIN:
            raise ValueError(f"a Java object of {name}, which serializes itself")
        kinds = [self._field(depth) for _ in range(self._number("H"))]
        if self._number("B") != END:
            raise ValueError(f"a Java class {name} with annotations")
        _, above = self._class(depth + 1)
        self._handles[place] = name, above + kinds
        return self._handles[place]

    def _field(self, depth):
        kind, _ = chr(self._number("B")), self._string()
        if kind not in PRIMITIVES:
            self.object(depth + 1)  # its class name
        return kind

    def _number(self, form):
        (n,) = struct.unpack_from(f">{form}", self._content, self._at)
        self._at += struct.calcsize(f">{form}")
        return n

    def _string(self):
        size = self._number("H")
        content = bytes(self._content[self._at : self._at + size])
        if len(content) < size:
            raise IndexError
        self._at += size
        return content.decode("utf-8", "surrogatepass")
