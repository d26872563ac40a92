"""Directories with a manifest that verifies the lengths and checksums of their files."""

import hashlib
import json
import os
import platform
from contextlib import contextmanager
from functools import cache
from importlib import metadata

from sparkdl.data import files
from sparkdl.data.whole_files import read_whole, refuse_endless
from sparkdl.errors import CheckpointError, ConfigError, DataError, brief
from sparkdl.training.saving.table_file import TableFile
from sparkdl.training.saving.table_pool import DIGEST, TablePool

FORMAT, VERSION = "sparkdl", 3  # of models that share files of rows with other checkpoints
OWN_TABLES, PLAIN = 2, 1  # versions with unshared files of rows, and without any
MANIFEST = "manifest.json"
LONGEST = 64 << 20  # bytes of a manifest
PACKAGES = ("sparkdl-hadoop", "numpy", "safetensors")


def write_directory(path, contents, pool=None):
    """Writes {name: bytes or TableFile} and a manifest as the directory `path`, or nothing.

    The directory is written next to `path`, read back, and only then moved into place. An existing
    directory is replaced only if it is of the same kind and contains nothing else. With a TablePool
    the TableFiles are stored there instead of in the directory.
    """
    path = as_text(path)
    refuse_to_destroy(path)
    large = [name for name, content in contents.items() if isinstance(content, TableFile)]
    shared = large if pool else []
    own = [name for name in contents if name not in shared]
    for name in shared:
        with _name_errors(pool.path, "written"):
            pool.add(contents[name])
    with files.atomic_directory(path) as folder:
        for name in own:
            _write(f"{folder}/{name}", contents[name])
        manifest = _manifest(contents, large, shared)
        _write(f"{folder}/{MANIFEST}", json.dumps(manifest, indent=2).encode())
        for _ in read_directory(folder, contents.keys() - large, large):
            pass
        for name in () if shared else large:
            contents[name].verify(f"{folder}/{name}")


def read_directory(path, names, others=()):
    """Yields (name, bytes) of the files of a directory made by `write_directory`.

    `others` are names of files that must also exist, but are not read.

    Raises
    ------
    CheckpointError
        If the directory is missing, not ours or of a later format, or if files are missing, extra,
        or of another length or checksum; names the file.
    """
    path = as_text(path)
    entries, present = read_manifest(path)["files"], _visible(path)
    shared = {name for name in others if is_shared(entries.get(name, {}))}
    for name in (*names, *others):
        if name not in entries or name not in present | shared:
            raise CheckpointError(
                f"{path}: {name} is missing; there are {sorted(present)}{_left_beside(path)}"
            )
    for name in sorted(present - {MANIFEST, *names, *others}):
        raise CheckpointError(f"{path}: {name} does not belong to the model; move it elsewhere")
    for name in others:
        try:
            _check_length(file_path(path, name, entries[name]), entries[name])
        except CheckpointError as error:
            if name not in shared:
                raise
            raise CheckpointError(
                f"{path}: {error}; checkpoints of a folder share this file, so move the whole "
                "folder, or load one where it is and save it as a model"
            ) from error
    for name in names:
        yield name, _check_entry(f"{path}/{name}", entries[name])


def read_manifest(path):
    """Returns the manifest of the directory `path`, a dict; it must be ours, of a known version."""
    if not files.exists(path):
        raise CheckpointError(f"{path}: there is no such model{_left_beside(path)}")
    if not files.exists(f"{path}/{MANIFEST}"):
        text = f"not a sparkdl model, it has no {MANIFEST}"
        raise CheckpointError(f"{path}: {text}{_left_beside(path)}")
    manifest = parse_json(f"{path}/{MANIFEST}", _read(f"{path}/{MANIFEST}", LONGEST))
    _check_manifest(f"{path}/{MANIFEST}", manifest)
    return manifest


def is_shared(entry):
    """Returns whether a file in a manifest lies in the pool of its folder."""
    return bool(entry.get("shared"))


def file_path(path, name, entry):
    """Returns the location of a file in the manifest of a directory."""
    path = files.absolute(path)
    if not is_shared(entry):
        return f"{path}/{name}"
    folder = os.path.realpath(path) if files.is_local(path) else path  # follows links
    return TablePool(folder.rpartition("/")[0]).place(entry["sha256"])


def shared_digests(path):
    """Returns the checksums of the pool files that the directory `path` needs."""
    entries = read_manifest(path)["files"].values()
    return {entry["sha256"] for entry in entries if is_shared(entry)}


def refuse_to_destroy(path):
    """Raises CheckpointError if writing a model to `path` would replace anything but a model.

    Also if `path` is below a file, or a whole bucket.
    """
    check_place(path)
    with _name_errors(path, "written"):
        files.check_replaceable(path)
    if not files.exists(path) or (files.is_directory(path) and not _visible(path)):
        return
    entries = read_manifest(path)["files"]
    for name in sorted(_visible(path) - {MANIFEST, *entries}):
        raise CheckpointError(f"{path}: {name} is no part of the model there and would be lost")


def check_place(path):
    """Raises CheckpointError if `path` cannot be written because of its folder or bucket."""
    with _name_errors(path, "written"):
        files.check_parents(path)


def refuse_model(path):
    """Raises CheckpointError if there is a model at `path`."""
    if files.exists(f"{as_text(path)}/{MANIFEST}"):
        raise CheckpointError(f"{path} holds a model; overwrite=True replaces it")


def as_text(path):
    """Returns a path or URI as text without a trailing slash, to be joined with a name by a slash.

    Raises ConfigError for anything but a path, and for texts that no file system accepts.
    """
    path = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(path, str):
        raise ConfigError(f"path must be a text or a pathlib object, got {brief(path)}")
    if "\0" in path:
        raise ConfigError(f"path must have no null character, got {brief(path)}")
    text = path.rstrip("/")
    if text.lower() in ("file:", "local:"):
        return f"{text}///"  # what follows two would be a host
    return f"{text}//" if text.endswith(":") else text or path  # hdfs:/// is a root


def parse_json(path, content):
    """Returns the JSON object in `content`, bytes read from `path`."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: must be JSON, got {_start(content)} ({error})") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path}: must be a JSON object, got {_start(content)}")
    return value


def _check_manifest(path, manifest):
    if manifest.get("format") != FORMAT:
        raise CheckpointError(
            f"{path}: format must be {FORMAT!r}, got {brief(manifest.get('format'))}"
        )
    version = manifest.get("version")
    if type(version) is not int or version < 1:
        raise CheckpointError(f"{path}: version must be an integer >= 1, got {brief(version)}")
    if version > VERSION:
        limit = f"this sparkdl reads versions up to {VERSION}"
        raise CheckpointError(
            f"{path}: has format version {brief(version)}, {limit}; install a newer one"
        )
    entries = manifest.get("files")
    if not isinstance(entries, dict):
        raise CheckpointError(f"{path}: must list its files, got {brief(entries)}")
    for name, entry in entries.items():
        if not is_entry(entry):
            raise CheckpointError(f"{path}: {name} must have bytes and sha256, got {brief(entry)}")
        if is_shared(entry) and not DIGEST.fullmatch(str(entry["sha256"])):
            raise CheckpointError(f"{path}: {name} must have a SHA-256, got {entry['sha256']!r}")


def is_entry(entry):
    """Returns whether a file's entry in a manifest is well-formed."""
    kinds = {"bytes": int, "sha256": str}
    return isinstance(entry, dict) and all(isinstance(entry.get(k), kinds[k]) for k in kinds)


def _check_entry(path, entry):
    content = _read(path)
    _check_figures(path, _fingerprint(content), entry)
    return content


def _check_length(path, entry):
    with _name_errors(path, "looked up"):
        refuse_endless(path)
        figures = {"bytes": files.size(path)}
    _check_figures(path, figures, entry)


def _check_figures(path, figures, entry):
    for what, actual in figures.items():
        if actual != entry[what]:
            expected = f"its manifest says {entry[what]}"
            raise CheckpointError(f"{path}: damaged, {what} is {actual}, {expected}")


def _manifest(contents, large, shared):
    entries = {name: _fingerprint(content) for name, content in contents.items()}
    return {
        "format": FORMAT,
        "version": VERSION if shared else OWN_TABLES if large else PLAIN,
        "packages": {name: _version(name) for name in PACKAGES} | {"python": _python()},
        "files": entries | {name: entries[name] | {"shared": True} for name in shared},
    }


def _fingerprint(content):
    if isinstance(content, TableFile):
        return {"bytes": content.bytes, "sha256": content.sha256}
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _python():
    return platform.python_version()


@cache  # takes a third of the time of a small checkpoint; loaded packages don't change
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


def _read(path, most=None):
    with _name_errors(path, "read"):
        return read_whole(path, most)


def _write(path, content):
    with _name_errors(path, "written"):
        if isinstance(content, TableFile):
            content.copy_to(path)
            return
        with files.open(path, "wb") as file:
            file.write(content)


@contextmanager
def _name_errors(path, done):
    try:
        yield
    except DataError as error:  # already names the path
        raise CheckpointError(str(error)) from error
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be {done}: {error.strerror or error}") from error


def _start(content):
    return repr(content[:20])
