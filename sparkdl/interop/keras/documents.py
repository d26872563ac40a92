"""Contents of a Keras file: the model's config, its compile settings, its weights."""

import re
from dataclasses import dataclass

from sparkdl.data.whole_files import read_whole
from sparkdl.errors import DataError
from sparkdl.interop.archives import open_members
from sparkdl.interop.hdf5 import open_untrusted_hdf5
from sparkdl.interop.json_member import parse_json
from sparkdl.interop.keras.weights import is_hdf5, refuse_shards, text_of

MEMBERS = ("config.json", "metadata.json", "model.weights.h5")
GROWTH = 8  # largest growth of an archive member over its compressed size


@dataclass(frozen=True, kw_only=True)
class KerasDocument:
    """A model as stored in a file.

    Parameters
    ----------
    path : str
        Path of the file, for errors.
    config : dict
        As from `to_json`.
    version : int
        Major version of Keras: 1, 2 or 3.
    training : dict or None
        Compile settings.
    weights : bytes or None
        An HDF5 file.
    """

    path: str
    config: dict
    version: int
    training: dict | None = None
    weights: bytes | None = None


def read_document(path, weights=None):
    """Returns the KerasDocument in a .keras or .h5 file, or of a JSON text.

    Parameters
    ----------
    path : str
        A file, local or a URI; or the text itself.
    weights : str, optional
        A separate .weights.h5 or .h5 file.
    """
    text = path if isinstance(path, str) and path.lstrip()[:1] == "{" else None
    content = text.encode() if text is not None else read_whole(path)
    where = "the text" if text is not None else str(path)
    if content[:4] == b"PK\x03\x04":
        document = from_archive(content, where)
    elif is_hdf5(content):
        document = from_hdf5(content, where)
    else:
        document = from_text(content, where)
    if weights is None:
        return document
    return KerasDocument(**{**vars(document), "weights": read_whole(weights), "path": str(weights)})


def from_archive(content, path):
    """Reads the document of a .keras file, which is a zip."""
    with open_members(content, path) as archive:
        names = archive.names
        refuse_shards(names, path)
        parts = {name: archive.read(name, GROWTH) for name in MEMBERS if name in names}
    if "config.json" not in parts:
        raise DataError(f"{path}: must hold config.json, got {names[:5]}")
    config = parse_json(parts["config.json"], f"{path}, config.json")
    about = parse_json(parts.get("metadata.json", b"{}"), f"{path}, metadata.json")
    return KerasDocument(
        path=path,
        config=config,
        version=version_of(about.get("keras_version"), 3),
        training=config.get("compile_config"),
        weights=parts.get("model.weights.h5"),
    )


def from_hdf5(content, path):
    """Reads the document of an .h5 file with a whole model."""
    with open_untrusted_hdf5(content, path) as file:
        config, training = (text_of(file, f"{name}_config", path) for name in ("model", "training"))
        version = text_of(file, "keras_version", path)
    if config is None:
        raise DataError(
            f"{path}: must hold a model, got weights alone; give the model's JSON, and these as "
            "weights="
        )
    return KerasDocument(
        path=path,
        config=parse_json(bytes_of(config), f"{path}, model_config"),
        version=version_of(version, 2),
        training=training and parse_json(bytes_of(training), f"{path}, training_config"),
        weights=content,
    )


def bytes_of(text):
    """Returns the original bytes of a text from h5py."""
    return text.encode(errors="surrogateescape")


def from_text(content, path):
    """Parses the document from `model.to_json()`."""
    config = parse_json(content, path)
    version = version_of(config.get("keras_version"), 3 if "module" in config else 2)
    return KerasDocument(
        path=path, config=config, version=version, training=config.get("compile_config")
    )


def version_of(text, default):
    """Returns the major version in a version text."""
    match = re.match(r"[123]\b", text) if isinstance(text, str) else None
    return int(match[0]) if match else default
