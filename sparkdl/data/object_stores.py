"""Object stores, which have neither folders nor renames: S3, Google Cloud Storage, Azure, OSS.

A folder is a common prefix of keys. Writing an object is atomic; a folder is moved by copying its
objects one by one. Keys are taken literally, where fsspec expands patterns such as [1-3] or *.
"""

from contextlib import suppress
from glob import has_magic

from sparkdl.errors import DataError


def check_bucket(uri, fs, path):
    """Raises DataError if the bucket of a path does not exist; not if asking is forbidden."""
    bucket = path.partition("/")[0]
    try:
        with suppress(PermissionError):
            fs.info(bucket)
    except FileNotFoundError:
        text = f"{uri}: cannot be written: there is no bucket {bucket}; make it, or choose another"
        raise DataError(text) from None


def entries(fs, path):
    """Returns the entries of a folder as fsspec lists them, from a single listing.

    Returns None if there is no such folder. The object that marks a folder is not in it.
    """
    try:
        found = fs.ls(path, detail=True)
    except FileNotFoundError:
        return None
    folder = path.rstrip("/")
    if [(one["name"], one["type"]) for one in found] == [(folder, "file")]:
        return None
    return [one for one in found if one["name"].rstrip("/") != folder]


def move(fs, source, target):
    """Moves an object, or all objects below a folder; overwrites objects of the same names.

    All copies exist before the first object is removed. Raises FileNotFoundError if there are none.
    """
    keys = [key for key in fs.find(source) if not key.endswith("/")]  # those mark folders
    if not keys:
        raise FileNotFoundError(source)
    fs.copy(keys, [f"{target}{key.removeprefix(source)}" for key in keys])
    remove(fs, source)


def remove(fs, path):
    """Deletes an object, or all objects below a folder."""
    if has_magic(path):
        for key in fs.find(path):
            fs.rm_file(key)
    else:
        fs.rm(path, recursive=True)


def replace(fs, new, target):
    """Moves the object `new` to `target`; readers see either the old or the new one.

    Returns False, and does nothing, if either is a folder.
    """
    if fs.isdir(new) or fs.isdir(target):
        return False
    move(fs, new, target)
    return True
