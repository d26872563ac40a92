"""Parser of data given on the command line."""

from sparkdl.config import text
from sparkdl.data import Source
from sparkdl.errors import ConfigError


def parse_data(written):
    """Parses a Source such as "Digits" or "{type: LMDB, path: digits_lmdb}"."""
    if not written.lstrip().startswith("{"):
        return Source.from_dict({"type": written})
    try:
        options = text.from_yaml(written)
    except ConfigError as error:
        raise ConfigError(f"--data: {error}") from error
    return Source.from_dict(options)
