"""Whether the paths that a command is to write exclude each other."""

from os.path import realpath

from sparkdl.data import files
from sparkdl.errors import ConfigError


def check_outside(name, path, folder, what):
    """Raises ConfigError if the path of option `name` is a folder that a command writes, or in it.

    `what` describes the folder.
    """
    if f"{place(path)}/".startswith(f"{place(folder)}/"):
        raise ConfigError(
            f"{name} must be outside of {folder}, {what}, got {path!r}; give another path"
        )


def place(path):
    """Returns the path of a file or folder without links and trailing slashes, for comparison."""
    local = files.is_local(path)
    return (realpath(files.absolute(path)) if local else str(path)).rstrip("/")
