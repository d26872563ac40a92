"""Paths with numbers to fill in, as in Keras: "model-{epoch:02d}-{val_loss:.2f}"."""

import math
import re
from collections.abc import Collection, Mapping

from sparkdl.errors import ConfigError, brief

FIELD = re.compile(r"\{([A-Za-z_][\w/]*)(?::([^{}]*))?\}")


class PathTemplate:
    """A path with fields in braces: the name of a number, and its format after a colon.

    Other braces belong to the path, as in a disk named {3F25-04E0}. The Keras name val_loss stands
    for validation_loss.

    Parameters
    ----------
    owner : str
        The option that holds it, for errors: "ModelCheckpoint.path".
    text : str

    Attributes
    ----------
    fields : tuple of str
        The names of the numbers, without duplicates.

    Raises
    ------
    ConfigError
        For a format that is not valid for numbers.
    """

    def __init__(self, owner: str, text: str) -> None:
        self.owner, self.text = owner, text
        self.fields = tuple(dict.fromkeys(map(name_of, FIELD.finditer(text))))
        try:
            self.fill({"epoch": 1})
        except (ValueError, MemoryError, OverflowError) as error:
            raise ConfigError(
                f"{owner} must have formats of numbers, got {brief(text)}: {error}; write "
                "{epoch:02d} or {loss:.2f}"
            ) from None

    def check(self, names: Collection[str], cure: str = "") -> None:
        """Raises ConfigError for a field that is not among the names."""
        for field in self.fields:
            if field not in names:
                known = ", ".join(f"{{{name}}}" for name in names)
                raise ConfigError(
                    f"{self.owner} must have fields among {known}, got {{{field}}} in "
                    f"{brief(self.text)}{cure}"
                )

    def fill(self, numbers: Mapping[str, float]) -> str:
        """Returns the path with the numbers filled in; unknown ones are nan."""

        def number(match):
            return format(numbers.get(name_of(match), math.nan), match[2] or "")

        return FIELD.sub(number, self.text)


def name_of(match: re.Match[str]) -> str:
    """Returns sparkdl's name of a field."""
    return re.sub("^val_", "validation_", match[1])
