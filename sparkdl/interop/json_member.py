"""Texts of JSON in files of others, read no further than such a text may be long."""

from sparkdl.config.text import from_json
from sparkdl.errors import ConfigError, DataError

LONGEST = 16 << 20  # bytes of a text


def parse_json(content, where):
    """Returns the mapping in the bytes of a JSON text.

    Raises
    ------
    DataError
        That begins with `where`, for bytes that are none or are more than LONGEST.
    """
    if len(content) > LONGEST:
        raise DataError(f"{where}: must have at most {LONGEST} bytes, got {len(content)}")
    try:
        return from_json(content.decode())
    except (ConfigError, UnicodeDecodeError) as error:
        raise DataError(f"{where}: must be JSON: {error}") from error
