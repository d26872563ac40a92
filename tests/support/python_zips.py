"""Spark's zips of Python sources, with the byte code that pip has written beside the same sources.

Executors import pyspark from its zip, which holds only sources: each Python daemon, and each worker
that imports more, compiles them again. That takes a third of a start.
"""

import importlib.util
import os
import zipfile
from contextlib import suppress
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".pytest_cache" / "python"  # for later runs too
UNCHECKED = (1).to_bytes(4, "little") + bytes(8)  # no time of a source is compared
QUICK = {"compression": zipfile.ZIP_DEFLATED, "compresslevel": 1}
HEAD, FIELDS = 16, slice(4, 16)  # of byte code: magic number, then flags, time and size of source


def home():
    """Returns a folder of the zips alone; executors find them there if it is their SPARK_HOME."""
    installed = Path(_find_spark_home())
    place = FOLDER / key(installed)
    for old in sources(installed):
        new = place / old.relative_to(installed)
        if not new.exists():
            new.parent.mkdir(parents=True, exist_ok=True)
            part = new.with_suffix(f".{os.getpid()}")  # another run may make the same file
            try:
                add_byte_code(old, part, installed.parent)
                part.replace(new)
            finally:
                part.unlink(missing_ok=True)
    return place


def zips():
    """Returns the paths of the zips, pyspark's first."""
    return sources(home())


def sources(folder):
    return sorted(folder.glob("python/lib/*.zip"), reverse=True)


def key(installed):
    """Returns a name that differs for other zips and for another Python."""
    magic = importlib.util.MAGIC_NUMBER.hex()
    return "-".join([magic, *(f"{file.stat().st_mtime_ns:x}" for file in sources(installed))])


def add_byte_code(old, new, packages):
    """Copies a zip; adds byte code for the files that `packages`, a folder, has with theirs."""
    with zipfile.ZipFile(old) as source, zipfile.ZipFile(new, "w", **QUICK) as target:
        for name in source.namelist():
            text = source.read(name)
            target.writestr(name, text)
            if name.endswith(".py") and (code := byte_code(packages / name, text)):
                target.writestr(f"{name}c", code)


def byte_code(path, text):
    """Returns the byte code beside a file with this text, or None if there is none."""
    with suppress(OSError):
        code = Path(importlib.util.cache_from_source(path)).read_bytes()
        stamp = (int(path.stat().st_mtime) & 0xFFFFFFFF, len(text) & 0xFFFFFFFF)
        wanted = bytes(4) + b"".join(number.to_bytes(4, "little") for number in stamp)
        fits = code[:4] == importlib.util.MAGIC_NUMBER and code[FIELDS] == wanted
        if fits and path.read_bytes() == text:
            return code[:4] + UNCHECKED + code[HEAD:]
    return None
