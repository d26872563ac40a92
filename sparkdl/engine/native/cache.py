"""Machine code on disk, so that the next process need not compile it again.

A file is the digest of the code, then the code; it appears under its name at once or not at all, so
processes that share a host may write at the same time. What is damaged is not there.

SPARKDL_KERNELS, a folder (else below the user's cache), and SPARKDL_KERNELS_BYTES change the place
and how much may lie there: the files that were written first are deleted for new ones.
"""

import hashlib
import os
import tempfile
from contextlib import suppress
from itertools import count
from pathlib import Path

from sparkdl.errors import UnsupportedError
from sparkdl.own_folders import budget, cache_folder, is_own_file, make_own_folder

DIGEST = hashlib.sha256().digest_size
BUDGET = 1 << 30  # bytes
SELDOM = 64  # writes of a process from one look at the folder's size to the next

_writes = count()


def folder():
    """Returns the folder of the files: one of the user's own, or None where there can be none."""
    chosen = os.environ.get("SPARKDL_KERNELS")
    try:  # a user who may write there may run code here
        return make_own_folder(Path(chosen) if chosen else cache_folder("kernels"))
    except (OSError, UnsupportedError):
        return None


def read(key):
    """Returns the code kept under a key, or None.

    Raises
    ------
    ConfigError
        SPARKDL_KERNELS_BYTES is no number of bytes.
    """
    allowed_bytes()  # before anything is compiled
    place = folder()
    try:
        content = (place / key).read_bytes() if place and is_own_file(place / key) else b""
    except OSError:
        return None
    digest, code = content[:DIGEST], content[DIGEST:]
    return code if code and hashlib.sha256(code).digest() == digest else None


def write(key, code):
    """Keeps code under a key, where there is a place for it."""
    place = folder()
    if place is None:
        return
    try:
        with tempfile.NamedTemporaryFile(dir=place, delete=False) as file:
            file.write(hashlib.sha256(code).digest() + code)
        os.replace(file.name, place / key)
        if next(_writes) % SELDOM == 0:
            make_room(place)
    except OSError:
        return  # a full disk costs the next process a few milliseconds


def make_room(place):
    """Deletes the oldest files until the others fit the budget."""
    room = allowed_bytes()
    with os.scandir(place) as entries:
        held = sorted(filter(None, map(entry_facts, entries)), reverse=True)
    for _, size, path in held:
        room -= size
        if room < 0:
            Path(path).unlink(missing_ok=True)


def allowed_bytes():
    return budget("SPARKDL_KERNELS_BYTES", BUDGET)


def entry_facts(entry):
    """(when it was written, bytes, path), or None where another process has deleted it."""
    with suppress(FileNotFoundError):
        status = entry.stat()
        return status.st_mtime_ns, status.st_size, entry.path


def key_of(*parts):
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
