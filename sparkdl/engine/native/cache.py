"""Machine code on disk, so that the next process need not compile it again.

A file has a digest of its name and code, then the code. It is replaced atomically, so processes
that share a host may write at the same time; damaged files count as missing. SPARKDL_KERNELS, a
folder (by default below the user's cache), and SPARKDL_KERNELS_BYTES set the location and the size
limit, above which the oldest files are deleted.
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
NAMES = re.compile(r"[0-9a-f]{64}|\.sparkdl-[0-9a-f]{16}")  # keys, and temporary files
SELDOM = 64  # writes of a process between two checks of the folder's size

_writes = count()


def folder():
    """Returns the folder of the files, owned by the user, or None if there cannot be one."""
    chosen = os.environ.get("SPARKDL_KERNELS")
    try:  # whoever may write there can run code here
        return make_own_folder(Path(chosen) if chosen else cache_folder("kernels"))
    except (OSError, UnsupportedError):
        return None


def read(key):
    """Returns the code stored under a key, or None.

    Raises
    ------
    ConfigError
        If SPARKDL_KERNELS_BYTES is not a number of bytes.
    """
    allowed_bytes()  # fails before anything is compiled
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
    """Stores code under a key, if there is a folder."""
    place = folder()
    if place is None:
        return
    try:
        with replaced_file(place / key, 0o600) as file:
            file.write(digest_of(key, code) + code)
        if next(_writes) % SELDOM == 0:
            make_room(place)
    except OSError:
        return  # a full disk costs the next process only a few milliseconds


def make_room(place):
    """Deletes the oldest files until the others fit the budget."""
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
