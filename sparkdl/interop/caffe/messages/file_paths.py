"""Paths of files that other files name."""

from sparkdl.data import files


def paths_of(source):
    """Returns the paths in the source of a layer: one, or several with commas between."""
    return tuple(path.strip() for path in source.split(",") if path.strip())


def locate_file(name, near):
    """Returns the path of a file that another one, `near`, names: as it says, or beside it."""
    folder, slash, _ = str(near).rpartition("/")
    sibling = f"{folder}{slash}{name.rpartition('/')[2]}"
    return sibling if not files.exists(name) and files.exists(sibling) else name
