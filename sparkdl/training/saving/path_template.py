"""A path with numbers to fill in, as Keras writes it: "model-{epoch:02d}-{val_loss:.2f}"."""

import math
import re
from collections.abc import Collection, Mapping

from sparkdl.errors import ConfigError, brief

FIELD = re.compile(r"\{([A-Za-z_][\w/]*)(?::([^{}]*))?\}")


class PathTemplate:
    """A path with fields in braces: the name of a number, and its format after a colon.

    Other braces belong to the path, as those of a disk that is called {3F25-04E0}. A name of
    Keras's, val_loss, stands for validation_loss.

    Parameters
    ----------
    owner : str
        The option that has it, for errors: "ModelCheckpoint.path".
    text : str

    Attributes
    ----------
    fields : tuple of str
        The names of the numbers, each once.

    Raises
    ------
    ConfigError
        For a format that no number has.
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
        """Raises ConfigError for a field that is none of the names of numbers."""
        for field in self.fields:
            if field not in names:
                known = ", ".join(f"{{{name}}}" for name in names)
                raise ConfigError(
                    f"{self.owner} must have fields among {known}, got {{{field}}} in "
                    f"{brief(self.text)}{cure}"
                )

    def fill(self, numbers: Mapping[str, float]) -> str:
        """Returns the path with the numbers; one that is not known is nan."""

        def number(match):
            return format(numbers.get(name_of(match), math.nan), match[2] or "")

        return FIELD.sub(number, self.text)


def name_of(match: re.Match[str]) -> str:
    """Returns the name of a field as we have it."""
    return re.sub("^val_", "validation_", match[1])
