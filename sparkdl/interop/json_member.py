"""Texts of JSON in files of others, read no further than such a text may be long."""

from sparkdl.config.text import from_json
from sparkdl.errors import ConfigError, DataError

LONGEST = 16 << 20  # bytes of a text
MOST_VALUES = 1 << 20  # which take 100 bytes each, and in the text perhaps 3


def parse_json(content, where):
    """Returns the mapping in the bytes of a JSON text.

    Raises
    ------
    DataError
        That begins with `where`, for bytes that are none or are more than LONGEST, or for more than
        MOST_VALUES.
    """
    if len(content) > LONGEST:
        raise DataError(f"{where}: must have at most {LONGEST} bytes, got {len(content)}")
    values = sum(content.count(mark) for mark in (b",", b"[", b"{"))  # at most, counted soon
    if values > MOST_VALUES:
        raise DataError(f"{where}: must have at most {MOST_VALUES} values, got about {values}")
    try:
        return from_json(content.decode())
    except (ConfigError, UnicodeDecodeError) as error:
        raise DataError(f"{where}: must be JSON: {error}") from error
