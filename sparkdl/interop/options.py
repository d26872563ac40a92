"""Options of an object of another framework, each of which must be handled."""

from sparkdl.errors import DataError, UnsupportedError


class Options:
    """Options of one object; `finish` raises UnsupportedError for options that were never read.

    Parameters
    ----------
    values : dict
        As read from a file.
    """

    free = frozenset()  # options without effect on results

    def __init__(self, values):
        if not isinstance(values, dict):
            raise DataError(f"a config must be a mapping, got {type(values).__name__}")
        self.values, self.seen = values, set(self.free)

    def take(self, name, default=None):
        """Returns an option, or `default` if the file omits it."""
        self.seen.add(name)
        return self.values.get(name, default)

    def number(self, name, default=None):
        """Returns an option that must be a number."""
        value = self.take(name, default)
        self.need(isinstance(value, int | float) and not isinstance(value, bool), name, value)
        return value

    def size(self, name, default=None):
        """Returns an option that must be a whole number."""
        value = self.take(name, default)
        self.need(isinstance(value, int) and not isinstance(value, bool), name, value)
        return value

    def whole(self, name, default=None):
        """Returns an option that must be an integer in value, such as 100.0, as an int."""
        value = self.number(name, default)
        self.need(isinstance(value, int) or value.is_integer(), name, value)
        return int(value)

    def flag(self, name, default=False):
        """Returns an option that must be true or false."""
        value = self.take(name, default)
        self.need(isinstance(value, bool), name, value)
        return value

    def sizes(self, name, axes, default=None):
        """Returns an option with an integer for each axis, or one for all: a tuple, or for one axis
        a number.
        """
        value = self.take(name, default)
        value = [value] * axes if isinstance(value, int) else value
        sound = isinstance(value, list | tuple) and len(value) == axes
        self.need(sound and all(type(one) is int for one in value), name, value)
        return value[0] if axes == 1 else tuple(value)

    def only(self, **values):
        """Raises UnsupportedError for options that are present with another value."""
        for name, value in values.items():
            given = self.take(name, value)
            self.need(given == value, name, given)

    def need(self, holds, name, value):
        """Raises UnsupportedError for an option unless `holds`."""
        if not holds:
            raise UnsupportedError(f"{name}={value!r} is not supported")

    def finish(self):
        """Raises UnsupportedError for options that were never read, except None and False."""
        rest = {name: value for name, value in self.values.items() if name not in self.seen}
        for name, value in rest.items():
            self.need(value is None or value is False, name, value)
