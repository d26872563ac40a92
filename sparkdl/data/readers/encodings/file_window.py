"""Sequential access to a file's bytes, read in chunks."""

from sparkdl.data.batches.columns import Violation
from sparkdl.data.readers.encodings.hadoop_format import INT, get_vint

CHUNK, LARGEST = 2**18, 2**26
LONGEST_VINT = 9


class FileWindow:
    """The bytes of a file from a position on, read in chunks."""

    def __init__(self, file, position):
        self._file, self._bytes, self._at, self.position = file, b"", 0, position
        file.seek(position)

    def more(self) -> bool:
        """Returns whether another byte follows."""
        return bool(self.ahead(1))

    def ahead(self, count):
        """Returns the next `count` bytes, fewer at the end of the file, without consuming them."""
        missing = count - (len(self._bytes) - self._at)
        if missing > 0:
            self._bytes, self._at = b"".join([self._bytes[self._at :], *self._pieces(missing)]), 0
        return self._bytes[self._at : self._at + count]

    def _pieces(self, missing):
        """Yields at least `missing` further bytes, or all up to the end of the file.

        Reads in bounded steps, as a damaged file may state any length.
        """
        while missing > 0 and (piece := self._file.read(min(max(CHUNK, missing), LARGEST))):
            yield piece
            missing -= len(piece)

    def take(self, count):
        """Consumes and returns the next `count` bytes. Raises Violation if there are fewer."""
        if count < 0:
            raise Violation(0, f"is damaged: a length is {count}")
        available = self.ahead(count)
        if len(available) < count:
            raise Violation(0, f"is cut short: {count} bytes must follow, got {len(available)}")
        self._skip(count)
        return available

    def int(self):
        return INT.unpack(self.take(INT.size))[0]

    def vint(self):
        try:
            n, size = get_vint(self.ahead(LONGEST_VINT), 0)
        except IndexError:
            raise Violation(0, "is cut short within a number") from None
        self._skip(size)
        return n

    def seek(self, pattern, stop):
        """Moves to the next `pattern` that begins before `stop`; returns whether there is one."""
        while self.position < stop:
            available = self.ahead(CHUNK)
            place = available.find(pattern)
            if place >= 0:
                self._skip(place)
                return self.position < stop
            if len(available) < CHUNK:
                return False
            self._skip(CHUNK - len(pattern) + 1)
        return False

    def _skip(self, count):
        self._at += count
        self.position += count
