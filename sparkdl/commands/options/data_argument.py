"""Parser of data given on the command line."""

from sparkdl.config import text
from sparkdl.data import Source


def parse_data(written):
    """Parses a Source such as "Digits" or "{type: LMDB, path: digits_lmdb}"."""
    if not written.lstrip().startswith("{"):
        return Source.from_dict({"type": written})
    return Source.from_dict(text.from_yaml(written))
