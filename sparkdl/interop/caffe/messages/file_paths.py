"""Paths of files named in other files."""

from sparkdl.data import files


def paths_of(source):
    """Returns the paths in a layer's source, separated by commas."""
    return tuple(path.strip() for path in source.split(",") if path.strip())


def locate_file(name, near):
    """Returns the path of a file named by the file `near`: as given, or in the same folder."""
    folder, slash, _ = str(near).rpartition("/")
    sibling = f"{folder}{slash}{name.rpartition('/')[2]}"
    return sibling if not files.exists(name) and files.exists(sibling) else name
