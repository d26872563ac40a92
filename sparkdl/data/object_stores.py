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
        if is_listed(fs, bucket):
            return
        text = f"{uri}: cannot be written: there is no bucket {bucket}; make it, or choose another"
        raise DataError(text) from None


def is_listed(fs, bucket):
    """Returns whether a bucket can be listed: to some clients, an empty one is not found."""
    try:
        with suppress(PermissionError):
            fs.find(bucket)
    except FileNotFoundError:
        return False
    return True


def check_key(uri, path):
    """Raises DataError if a path names a bucket only, beside which nothing can be written."""
    uri = uri.rstrip("/")
    if not path.partition("/")[2].strip("/"):
        raise DataError(
            f"{uri}: must name a folder in the bucket, got the bucket; choose one, such as {uri}/a"
        )


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

    All copies exist before the first object is removed. If a copy fails, those that made new
    objects are deleted, and its error is raised. Raises FileNotFoundError if there are no objects.
    """
    keys = [key for key in fs.find(source) if not key.endswith("/")]  # those mark folders
    if not keys:
        raise FileNotFoundError(source)
    present, copies = _keys(fs, target), [f"{target}{key.removeprefix(source)}" for key in keys]
    try:
        fs.copy(keys, copies)
    except BaseException:
        _remove_new(fs, target, {*copies} - present)
        raise
    remove(fs, source)


def _keys(fs, path):
    """Returns the keys of an object or a folder; some clients raise an error if there are none."""
    try:
        return {*fs.find(path)}
    except FileNotFoundError:
        return set()


def _remove_new(fs, target, new):
    """Deletes those of the keys `new` that are below `target`; errors are left to the caller's."""
    with suppress(Exception):  # those of clients are of any class
        for key in sorted(new & _keys(fs, target)):
            with suppress(Exception):
                fs.rm_file(key)


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
