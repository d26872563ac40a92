"""Constraints on texts, choices and booleans."""

from os import PathLike, fspath
from typing import Any

import numpy as np

from sparkdl.config.constraints.base import Requirement, scalar
from sparkdl.config.dataclass import dataclass
from sparkdl.config.names import suggestion


@dataclass(frozen=True, kw_only=True)
class Boolean(Requirement):
    """True or False, not 1 or 0."""

    phrase, plural = "True or False", "True or False each"

    def check(self, value: Any, where: str) -> Any:
        if not isinstance(value, bool | np.bool_):
            self.refuse(value, where)
        return bool(value)


@dataclass(frozen=True, kw_only=True)
class Text(Requirement):
    """A text that is not empty.

    Parameters
    ----------
    what : str
        The description of the text: "a path", "a name".
    """

    what: str = "a text"

    @property
    def phrase(self) -> str:
        return f"{self.what} that is not empty"

    @property
    def plural(self) -> str:
        _, noun = self.what.split(" ", 1)  # without its article
        head, of, rest = noun.partition(" of ")
        return f"{head}s{of}{rest} that are not empty"

    def check(self, value: Any, where: str) -> Any:
        text = scalar(value)
        if not isinstance(text, str) or not text.strip():
            self.refuse(value, where)
        return text


@dataclass(frozen=True, kw_only=True)
class Character(Requirement):
    """One ASCII character, including space and tab."""

    phrase, plural = "one character of ASCII", "characters of ASCII"

    def check(self, value: Any, where: str) -> Any:
        text = scalar(value)
        if not isinstance(text, str) or len(text) != 1 or not text.isascii():
            self.refuse(value, where)
        return text


@dataclass(frozen=True, kw_only=True)
class Path(Text):
    """A path, as a text or pathlib object; stored as a text."""

    what: str = "a path"

    def check(self, value: Any, where: str) -> Any:
        return super().check(fspath(value) if isinstance(value, PathLike) else value, where)


@dataclass(frozen=True, kw_only=True)
class Choice(Requirement):
    """One of a few values, mostly strings."""

    of: tuple

    @property
    def phrase(self) -> str:
        *others, last = map(repr, self.of)
        return f"{', '.join(others)} or {last}" if others else last

    @property
    def plural(self) -> str:
        return f"{self.phrase} each"

    def check(self, value: Any, where: str) -> Any:
        value = scalar(value)
        for choice in self.of:
            if type(value) is type(choice) and value == choice:
                return choice
        words = [choice for choice in self.of if isinstance(choice, str)]
        self.refuse(value, where, suggestion(value, words, "choice").removeprefix("; "))
