"""A directory with a manifest, by which its files, their lengths and checksums are verified."""

import hashlib
import json
import os
import platform
from contextlib import contextmanager
from importlib import metadata

from sparkdl.data import files
from sparkdl.errors import CheckpointError, DataError

FORMAT, VERSION = "sparkdl", 1
MANIFEST = "manifest.json"
PACKAGES = ("sparkdl-hadoop", "numpy", "safetensors")


def write_directory(path, contents):
    """Writes {name: bytes} and a manifest as the directory `path`, whole or not at all.

    It is written beside, read back and only then put in place. What stands at `path` is replaced
    only if it is such a directory itself, and nothing else is in it.
    """
    path = as_text(path)
    refuse_to_destroy(path)
    with files.atomic_directory(path) as folder:
        for name, content in contents.items():
            _write(f"{folder}/{name}", content)
        _write(f"{folder}/{MANIFEST}", json.dumps(_manifest(contents), indent=2).encode())
        for _ in read_directory(folder, contents):
            pass


def read_directory(path, names):
    """Yields (name, bytes) of the files of a directory that `write_directory` made.

    Raises
    ------
    CheckpointError
        Nothing there, not ours, written by a later format, a file missing, too many, of another
        length or checksum: each by name.
    """
    path = as_text(path)
    entries, present = read_manifest(path)["files"], _visible(path)
    for name in names:
        if name not in entries or name not in present:
            raise CheckpointError(f"{path}: {name} is missing; there are {sorted(present)}")
    for name in sorted(present - {MANIFEST, *names}):
        raise CheckpointError(f"{path}: {name} does not belong to the model; move it elsewhere")
    for name in names:
        yield name, _check_entry(f"{path}/{name}", entries[name])


def read_manifest(path):
    """Returns the manifest of the directory `path`, a dict; it must be ours, of a known version."""
    if not files.exists(path):
        raise CheckpointError(f"{path}: there is no such model{_left_beside(path)}")
    if not files.exists(f"{path}/{MANIFEST}"):
        raise CheckpointError(f"{path}: not a sparkdl model, it has no {MANIFEST}")
    manifest = parse_json(f"{path}/{MANIFEST}", _read(f"{path}/{MANIFEST}"))
    _check_manifest(f"{path}/{MANIFEST}", manifest)
    return manifest


def refuse_to_destroy(path):
    """Raises CheckpointError if a model written to `path` would replace anything but a model."""
    if not files.exists(path) or (files.is_directory(path) and not _visible(path)):
        return
    entries = read_manifest(path)["files"]
    for name in sorted(_visible(path) - {MANIFEST, *entries}):
        raise CheckpointError(f"{path}: {name} is no part of the model there and would be lost")


def refuse_model(path):
    """Raises CheckpointError where a model is."""
    if files.exists(f"{as_text(path)}/{MANIFEST}"):
        raise CheckpointError(f"{path} holds a model; overwrite=True replaces it")


def as_text(path):
    """Returns a path or URI as text without a slash at its end."""
    path = os.fspath(path)
    return path.rstrip("/") or path


def parse_json(path, content):
    """Returns the JSON object in `content`, bytes read from `path`."""
    try:
        value = json.loads(content)
    except ValueError as error:
        raise CheckpointError(f"{path}: must be JSON, got {_start(content)} ({error})") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path}: must be a JSON object, got {_start(content)}")
    return value


def _check_manifest(path, manifest):
    if manifest.get("format") != FORMAT:
        raise CheckpointError(f"{path}: format must be {FORMAT!r}, got {manifest.get('format')!r}")
    version = manifest.get("version")
    if type(version) is not int or version < 1:
        raise CheckpointError(f"{path}: version must be an integer >= 1, got {version!r}")
    if version > VERSION:
        limit = f"this sparkdl reads versions up to {VERSION}"
        raise CheckpointError(f"{path}: has format version {version}, {limit}; install a newer one")
    entries = manifest.get("files")
    if not isinstance(entries, dict):
        raise CheckpointError(f"{path}: must list its files, got {entries!r}")
    for name, entry in entries.items():
        if not isinstance(entry, dict) or not {"bytes", "sha256"} <= set(entry):
            raise CheckpointError(f"{path}: {name} must have bytes and sha256, got {entry!r}")


def _check_entry(path, entry):
    content = _read(path)
    for what, actual in _fingerprint(content).items():
        if actual != entry[what]:
            expected = f"its manifest says {entry[what]}"
            raise CheckpointError(f"{path}: damaged, {what} is {actual}, {expected}")
    return content


def _manifest(contents):
    return {
        "format": FORMAT,
        "version": VERSION,
        "packages": {name: _version(name) for name in PACKAGES} | {"python": _python()},
        "files": {name: _fingerprint(content) for name, content in contents.items()},
    }


def _fingerprint(content):
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _python():
    return platform.python_version()


def _version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # run from a zip or a checkout
        return "not installed"


def _visible(path):
    """Returns the visible names in a directory; hidden ones are the file system's own."""
    with _name_errors(path, "listed"):
        return {name for name in files.list(path) if not name.startswith(".")}


def _left_beside(path):
    """Returns the leftovers of a run killed while it replaced `path`, as the end of a message."""
    parent, _, name = path.rpartition("/")
    parent = parent or "."
    hidden = files.list(parent) if files.is_directory(parent) else []
    leftovers = [other for other in hidden if other.startswith(f".{name}.")]
    return f"; beside it are {leftovers}, rename the one to use" if leftovers else ""


def _read(path):
    with _name_errors(path, "read"), files.open(path, "rb") as file:
        return file.read()


def _write(path, content):
    with _name_errors(path, "written"), files.open(path, "wb") as file:
        file.write(content)


@contextmanager
def _name_errors(path, done):
    try:
        yield
    except DataError as error:  # names the path already
        raise CheckpointError(str(error)) from error
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be {done}: {error.strerror or error}") from error


def _start(content):
    return repr(content[:20])
