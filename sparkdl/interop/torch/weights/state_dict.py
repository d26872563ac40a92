"""The arrays of a state_dict, in a safetensors file or saved by torch.save."""

from math import prod

import numpy as np

from sparkdl.data.whole_files import read_whole
from sparkdl.errors import ConfigError, DataError, UnsupportedError, brief
from sparkdl.interop.archives import open_members
from sparkdl.interop.torch.weights.pickled_dict import Tensor, read_pickle
from sparkdl.interop.torch.weights.safetensors_file import read_safetensors
from sparkdl.interop.torch.weights.tensors import TYPES, array_of

ZIP, OLD_PICKLE = b"PK\x03\x04", b"\x80"
STORED = 1  # torch does not compress members


def read_state_dict(path, key=None):
    """Returns ({name: array}, whether they are in the module's order).

    PyTorch is not needed, and no code is run. A safetensors file sorts arrays by name.

    Parameters
    ----------
    path : str
        A .safetensors file, or a .pt, .pth or .bin that torch.save wrote (PyTorch 1.6 or later);
        local or a URI.
    key : str, optional
        Key of the state_dict in a file that holds more: "model", "state_dict" ...

    Raises
    ------
    ConfigError
        If the file holds more than a state_dict; the error lists its keys.
    UnsupportedError
        If it holds objects other than tensors.
    DataError
        If it cannot be read, or is damaged.
    """
    content = read_whole(path)
    if content[:4] == ZIP:
        return read_archive(content, path, key), True
    if content[:1] == OLD_PICKLE:
        raise UnsupportedError(f"{path}: files of PyTorch before 1.6 are not read; save it again")
    if key is not None:
        raise ConfigError(f"{path}: key is for files of torch.save, got {key!r}")
    return read_safetensors(content, path), False


def read_archive(content, path, key):
    """Returns {name: array} of a zip written by torch.save."""
    with open_members(content, path) as archive:
        [place] = [name for name in archive.names if name.endswith("/data.pkl")][:1] or [None]
        if place is None:
            raise DataError(f"{path}: a zip without data.pkl is not of torch.save")
        folder = place.removesuffix("data.pkl")
        order = f"{folder}byteorder"
        if order in archive.names and archive.read(order) != b"little":
            raise UnsupportedError(f"{path}: numbers with their highest byte first")
        found = chosen(read_pickle(archive.read(place, STORED), path), key, path)
        storages = Storages(archive, folder, path)
        return {name: storages.view(name, tensor) for name, tensor in found.items()}


def chosen(found, key, path):
    """Returns {name: Tensor} of a file's content, or of its entry `key`."""
    if key is not None:
        if not isinstance(found, dict) or key not in found:
            raise ConfigError(f"{path}: key must be one of {keys_of(found)}, got {key!r}")
        found = found[key]
    if not isinstance(found, dict) or not all(isinstance(v, Tensor) for v in found.values()):
        raise ConfigError(
            f"{path}: a state_dict must hold tensors alone, got {keys_of(found)}; say where it is "
            "by key="
        )
    return {str(name): tensor for name, tensor in found.items()}


def keys_of(found):
    return brief(list(found)) if isinstance(found, dict) else type(found).__name__


class Storages:
    """The storages of an archive; each member is read once."""

    def __init__(self, archive, folder, path):
        self.archive, self.folder, self.path = archive, folder, path
        self.known = {}

    def view(self, name, tensor):
        """Returns the array of a Tensor, a view of its storage."""
        storage, size = tensor.storage, np.dtype(TYPES[tensor.storage.kind]).itemsize
        place = storage.kind, storage.key
        if place not in self.known:
            content = self.archive.read(f"{self.folder}data/{storage.key}", STORED)
            if len(content) != storage.count * size:
                raise DataError(f"{self.path}: {name} must have {storage.count * size} bytes")
            self.known[place] = array_of(storage.kind, content)
        spans = zip(tensor.shape, tensor.strides, strict=True)
        last = tensor.offset + sum((n - 1) * stride for n, stride in spans)
        if 0 in tensor.shape:
            return np.zeros(0, np.float32).reshape(tensor.shape)
        if last >= storage.count or prod(tensor.shape) > storage.count:
            raise DataError(f"{self.path}: {name} must lie within its {storage.count} numbers")
        flat = self.known[place][tensor.offset :]
        strides = [stride * flat.itemsize for stride in tensor.strides]
        return np.lib.stride_tricks.as_strided(flat, tensor.shape, strides, writeable=False)
