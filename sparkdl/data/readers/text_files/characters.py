"""Conversion of characters to numbers and back."""

import codecs
import json
from collections.abc import Iterable
from functools import cached_property
from os import PathLike
from typing import Self

import numpy as np

from sparkdl.config import Config, Requirement, dataclass, option
from sparkdl.data import files
from sparkdl.errors import DataError, text_of

PIECE = 1 << 20  # bytes per read


@dataclass(frozen=True, kw_only=True)
class DistinctCharacters(Requirement):
    """A text of distinct characters, kept in Unicode order."""

    phrase = plural = "characters, each of them once"

    def check(self, value, where):
        if not isinstance(value, str) or not len(set(value)) == len(value) > 0:
            self.refuse(value, where)
        return "".join(sorted(value))


@dataclass(frozen=True, kw_only=True)
class Characters(Config):
    """The alphabet of a text: a number for each of its characters, in the order of Unicode."""

    alphabet: str = option(
        DistinctCharacters(), "Each character once, in any order.", kw_only=False
    )

    @classmethod
    def of(cls, text: str) -> Self:
        """Returns the alphabet of a text; ConfigError if the text is empty."""
        return cls("".join(set(text)))

    @classmethod
    def of_file(cls, path: str | PathLike[str]) -> Self:
        """Makes the alphabet of a UTF-8 file on any file system. Raises DataError, ConfigError."""
        alphabet: set[str] = set()
        decoder = codecs.getincrementaldecoder("utf-8")()
        with files.open(path) as file:
            try:
                while piece := file.read(PIECE):
                    alphabet.update(decoder.decode(piece))
                alphabet.update(decoder.decode(b"", final=True))
            except UnicodeDecodeError as error:
                raise DataError(f"{path}: must be UTF-8: {error}") from None
        return cls("".join(alphabet))

    def __len__(self) -> int:
        return len(self.alphabet)

    def encode(self, text: str) -> np.ndarray:
        """Encodes a text as the numbers (n,) of its characters, uint8 where 256 do, else int32.

        Raises
        ------
        DataError
            For the first character that is not in the alphabet.
        """
        points = code_points(text)
        codes = np.searchsorted(self._points, points).clip(max=len(self) - 1)
        unknown = self._points[codes] != points
        if unknown.any():
            at = int(np.argmax(unknown))
            raise DataError(f"character {at} must be one of {len(self)} known, got {text[at]!r}")
        return codes.astype(np.uint8 if len(self) <= 256 else np.int32)

    def decode(self, codes: np.ndarray | Iterable[int]) -> str:
        """Returns the text whose characters have these numbers (n,). Raises DataError for an
        unknown one.
        """
        codes = np.asarray(codes, np.int64)
        if codes.size and not (codes.min() >= 0 and codes.max() < len(self)):
            raise DataError(
                f"numbers of characters must be in [0, {len(self)}), got {codes.min()} to "
                f"{codes.max()}"
            )
        return self._points[codes].astype("<u4").tobytes().decode("utf-32-le")

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the alphabet as JSON."""
        with files.open(path, "wb") as file:
            file.write(json.dumps({"characters": self.alphabet}).encode())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Returns the alphabet that `save` wrote. Raises DataError."""
        with files.open(path) as file:
            content = file.read()
        try:
            return cls(json.loads(content)["characters"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise DataError(f"{path}: must hold an alphabet: {text_of(error)}") from error

    @cached_property
    def _points(self):
        return code_points(self.alphabet)


def code_points(text):
    """Returns the Unicode code points of a text, (n,) uint32."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
