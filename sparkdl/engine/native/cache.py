"""Machine code on disk, so that the next process need not compile it again.

A file is a digest of its name and the code, then the code. It appears under its name at once or not
at all, so processes that share a host may write at the same time. What is damaged is not there.

SPARKDL_KERNELS, a folder (else below the user's cache), and SPARKDL_KERNELS_BYTES change the place
and how much may lie there: the files that were written first are deleted for new ones.
"""

import hashlib
import os
import re
from itertools import count
from pathlib import Path

from sparkdl.errors import UnsupportedError
from sparkdl.own_folders import (
    budget,
    cache_folder,
    make_own_folder,
    open_own,
    own_files,
    replaced_file,
)

DIGEST = hashlib.sha256().digest_size
BUDGET = 1 << 30  # bytes
NAMES = re.compile(r"[0-9a-f]{64}|\.sparkdl-[0-9a-f]{16}")  # keys, and what is not yet written
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
    if place is None:
        return None
    try:
        with open_own(place / key) as file:
            content = file.read()
    except (OSError, UnsupportedError):
        return None
    digest, code = content[:DIGEST], content[DIGEST:]
    return code if code and digest_of(key, code) == digest else None


def write(key, code):
    """Keeps code under a key, where there is a place for it."""
    place = folder()
    if place is None:
        return
    try:
        with replaced_file(place / key, 0o600) as file:
            file.write(digest_of(key, code) + code)
        if next(_writes) % SELDOM == 0:
            make_room(place)
    except OSError:
        return  # a full disk costs the next process a few milliseconds


def make_room(place):
    """Deletes the oldest of its files until the others fit the budget."""
    room = allowed_bytes()
    found = own_files(place, NAMES)
    held = sorted(((about.st_mtime_ns, about.st_size, path) for path, about in found), reverse=True)
    for _, size, path in held:
        room -= size
        if room < 0:
            path.unlink(missing_ok=True)


def allowed_bytes():
    return budget("SPARKDL_KERNELS_BYTES", BUDGET)


def digest_of(key, code):
    return hashlib.sha256(key.encode() + code).digest()


def key_of(*parts):
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
