"""All errors that sparkdl raises on purpose, and the common wording for invalid options."""

from collections.abc import Iterator
from contextlib import contextmanager
from reprlib import Repr
from typing import Any

__all__ = [
    "CheckpointError",
    "ConfigError",
    "DataError",
    "DeviceError",
    "DivergedError",
    "LostRecords",
    "NoRecords",
    "NoSlots",
    "NothingToEvaluate",
    "OperandError",
    "PeerError",
    "ShapeError",
    "SparkdlError",
    "UnsupportedError",
    "WorkerError",
]

LONGEST = 100


class SparkdlError(Exception):
    """Base of all errors of this package.

    `types` are those of the arguments that make an error of the class again in another process: a
    text; a class that takes others names their types, and has them as its `args`.
    """

    types: tuple[Any, ...] = (str,)


class ConfigError(SparkdlError, ValueError):
    """An option has an invalid value.

    `place` is the path of fields with which the text of a nested option's error begins.
    """

    place: str = ""


class ShapeError(SparkdlError, ValueError):
    """Arrays, layers or vectors have shapes that do not fit together."""


class OperandError(SparkdlError, ValueError):
    """A kernel would leave an operand's memory, or misread its numbers; names the operand."""


class DataError(SparkdlError, ValueError):
    """Records or files cannot be used; names which and where."""


class NoRecords(DataError):
    """There are no records to train on."""


class NothingToEvaluate(DataError):
    """There are no records to evaluate on."""


class CheckpointError(SparkdlError, ValueError):
    """A saved model or checkpoint is missing, damaged, or not sparkdl's."""


class UnsupportedError(SparkdlError, RuntimeError):
    """A backend or system lacks what was requested; names what it has."""


class NoSlots(UnsupportedError):
    """A job has waited too long for slots of the cluster; says what holds them."""


class DeviceError(SparkdlError, RuntimeError):
    """A device has no memory left, or failed; names what was requested and what it has."""


class WorkerError(SparkdlError, RuntimeError):
    """A worker failed; names the worker, and what it was doing."""


class PeerError(WorkerError):
    """Another process of a group is gone, silent, or has sent invalid data.

    Parameters
    ----------
    rank : int or None
        Whose; None where it is not known.
    host : str
    what : str
        What happened, and what was awaited.
    """

    types = (int | None, str, str)

    def __init__(self, rank: int | None, host: str, what: str) -> None:
        super().__init__(rank, host, what)
        self.rank, self.host, self.what = rank, host, what

    def __str__(self) -> str:
        who = "a process" if self.rank is None else f"rank {self.rank}"
        return f"{who} on {self.host}: {self.what}"


class LostRecords(WorkerError):
    """Records that an executor stored are no longer where a worker looks for them."""


class DivergedError(SparkdlError, RuntimeError):
    """The loss is no longer a finite number; names the round."""


def require(config: object, field: str, holds: object, must_be: str, cure: str = "") -> None:
    """Raises ConfigError unless `holds`: "Dense.units must be an integer >= 1, got 0"."""
    if not holds:
        owner, value = type(config).__name__, getattr(config, field)
        end = f"; {cure}" if cure else ""
        raise ConfigError(f"{owner}.{field} must be {must_be}, got {brief(value)}{end}")


@contextmanager
def needs_package(
    owner: str, package: str, cure: str, error: type[SparkdlError] = UnsupportedError
) -> Iterator[None]:
    """Turns an ImportError in the block into one that says who needs what, and how to get it."""
    try:
        yield
    except ImportError as reason:
        raise error(f"{owner} needs {package}: {cure} ({reason})") from reason


def require_kind(name: str, value: object, kind: Any, must_be: str) -> None:
    """Raises ConfigError unless `value` is an instance of `kind`, in words `must_be`."""
    if not isinstance(value, kind):
        raise ConfigError(f"{name} must be {must_be}, got {type(value).__name__}")


def count_of(number: int, noun: str) -> str:
    """Returns a number with a noun that gets its s: "1 round", "2 rounds"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def named(kind: str, text: str) -> str:
    """Returns an exception's text, after the name of its class if the text has no words.

    Some exceptions say no more than a path or a key.
    """
    is_quoted = text[:1] == text[-1:] and text[:1] in ("'", '"')
    has_words = len(text.split()) > 1 and not is_quoted
    return text if has_words else ": ".join(filter(None, (kind, text)))


def text_of(error: BaseException) -> str:
    """Returns an error's text, which names its class if it has no words."""
    return named(type(error).__name__, str(error))


class BoundedRepr(Repr):
    """A repr limited to a few items and levels, so that it is quick for any value."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxdict = 3, 4
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdeque = 6
        self.maxstring = self.maxlong = self.maxother = 60

    def repr_int(self, value: Any, level: int) -> str:
        digits = int(value.bit_length() * 0.30103)
        return super().repr_int(value, level) if digits < 1000 else f"a number of {digits} digits"


def brief(value: Any) -> str:
    """Returns `value` as text of at most 100 characters, on one line."""
    text = " ".join(line.strip() for line in BoundedRepr().repr(value).splitlines())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
