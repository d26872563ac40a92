"""File systems of paths: the local one, HDFS, and any other that fsspec supports."""

import os
import re
from contextlib import contextmanager, suppress

import fsspec

from sparkdl.data import hadoop
from sparkdl.errors import DataError, SparkdlError, text_of

LOCAL = (None, "file", "local")
SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]+")  # at least two letters: C: is a drive
OBJECT_STORES = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "oss", "oci")
NATIVE = ("hdfs", "viewfs")
SCHEMES = ("file", *hadoop.SCHEMES)  # schemes that may be followed by a single slash
LOCAL_URI = re.compile("(file|local):(//(?:localhost(?=/))?)?(.*)", re.DOTALL)


def is_local(path):
    """Returns whether the path is on this machine's file system."""
    return scheme_of(path) in LOCAL


def is_object_store(path):
    """Returns whether the path is in a store of objects by key, such as S3.

    It has neither folders nor renames, and an object appears whole.
    """
    return scheme_of(path) in OBJECT_STORES


def takes_threads(path):
    """Returns whether several threads may call the path's file system at a time.

    WebHDFS may have a session with Kerberos, and others, such as FTP or archives, one connection or
    file: calls of several threads would mix there.
    """
    scheme = scheme_of(path)
    if scheme in (*LOCAL, *NATIVE):
        return True
    if scheme in hadoop.SCHEMES or "::" in scheme:
        return False
    with suppress(ImportError, ValueError):  # the call itself reports it
        return fsspec.get_filesystem_class(scheme).async_impl
    return False


def resolve(path):
    """Returns (fsspec file system, path in it). Raises DataError."""
    uri = _as_uri(path)
    if "\0" in uri:
        raise DataError(f"{uri!r}: a path must have no null character")
    local = LOCAL_URI.match(uri)
    if local:
        _refuse_relative(path, *local.groups())
    try:
        if scheme_of(uri) in hadoop.SCHEMES:
            return hadoop.file_system(uri)
        if local or (scheme_of(uri) is None and not _is_chain(uri)):
            fs = fsspec.filesystem("file")
            return fs, fs._strip_protocol(f"file://{local[3]}" if local else uri)
        fs, inner = fsspec.core.url_to_fs(uri)
        if scheme_of(uri) in OBJECT_STORES:  # a listing would hide what other processes write
            fs.dircache.use_listings_cache = False
            fs.dircache.clear()
        return fs, inner
    except (ImportError, ValueError, OSError) as error:
        reason = text_of(error).split("\n")[0]
        raise DataError(f"{path}: its file system cannot be reached: {reason}") from error


def scheme_of(path):
    """Returns the scheme of a URI, or None for a path."""
    path = _as_uri(path)
    scheme, colon, _ = path.partition(":")
    if colon and scheme in hadoop.SCHEMES:  # includes hdfs:/path, as Hadoop writes it
        return scheme
    return fsspec.core.split_protocol(path)[0]


def _as_uri(path):
    """Returns the path as a str, with the scheme of a URI, which ignores case, in lower case."""
    path = os.fspath(path)
    scheme, colon, rest = path.partition(":")
    if SCHEME.fullmatch(scheme) and (rest.startswith("//") or scheme.lower() in SCHEMES):
        scheme = scheme.lower()
    return f"{scheme}{colon}{rest}"


def _is_chain(path):
    """Returns whether fsspec reads the path through another of its systems: simplecache::/a/b.

    Otherwise "::" is an ordinary part of the path.
    """
    first, colons, _ = path.partition("::")
    return bool(colons) and first in fsspec.available_protocols()


def _refuse_relative(path, scheme, slashes, rest):
    """Raises DataError unless a local URI has an absolute path, as RFC 8089 requires."""
    if rest.startswith("/"):
        return
    if slashes:
        raise DataError(f"{path}: must be {scheme}:///..., for what follows {scheme}:// is a host")
    raise DataError(
        f"{path}: must be {scheme}:///absolute/path, for a URI has no relative path; "
        f"give that, or the path without {scheme}:"
    )


@contextmanager
def name_errors(path, done):
    """Turns file system errors in the block into DataErrors that name the path.

    Clients of remote ones raise errors of many classes.
    """
    try:
        yield
    except FileNotFoundError as error:
        if done == "written" and is_object_store(path):  # it needs no folder, but a bucket
            raise DataError(f"{path}: cannot be written: {text_of(error)}") from error
        raise DataError(f"{path}: there is no such file or folder") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be {done}: {error.strerror or text_of(error)}") from error
    except Exception as error:
        if isinstance(error, SparkdlError) or is_local(path):
            raise
        raise DataError(f"{path}: cannot be {done}: {text_of(error)}") from error
