"""Parsing of untrusted JSON texts, with limits on their size."""

from sparkdl.config.text import from_json
from sparkdl.errors import ConfigError, DataError

LONGEST = 16 << 20  # bytes of a text
MOST_VALUES = 1 << 20  # each takes about 100 bytes in memory, but perhaps 3 in the text


def parse_json(content, where):
    """Parses a JSON text that must be a mapping.

    Raises
    ------
    DataError
        Prefixed with `where`, if it is not a JSON mapping, has more than LONGEST bytes, or more
        than MOST_VALUES values.
    """
    if len(content) > LONGEST:
        raise DataError(f"{where}: must have at most {LONGEST} bytes, got {len(content)}")
    values = sum(content.count(mark) for mark in (b",", b"[", b"{"))  # a quick upper bound
    if values > MOST_VALUES:
        raise DataError(f"{where}: must have at most {MOST_VALUES} values, got about {values}")
    try:
        return from_json(content.decode())
    except (ConfigError, UnicodeDecodeError) as error:
        raise DataError(f"{where}: must be JSON: {error}") from error
