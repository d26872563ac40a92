"""Caffe's weights and solver states in HDF5.

Weights lie at data/LAYER/0, 1 ...; a state has iter, learned_net, current_step and history/0, 1 ...
"""

import io
from contextlib import contextmanager

import h5py
import numpy as np

from sparkdl.errors import DataError

DEFLATED = 1032  # at most so many bytes come out of one that was compressed


def weights_from_hdf5(content, path):
    """Returns {layer: [array]} of layers with any in the HDF5 file `content`, read from `path`."""
    with open_hdf5(content, path) as file:
        layers, weights = groups(inner(file, "data", path), path), {}
        for name, group in layers.items():
            arrays = arrays_by_number(group, f"{path}, layer {name!r}")
            if arrays:
                weights[name] = arrays
        return weights


def weights_to_hdf5(weights):
    """Returns the content of an HDF5 file with {layer: [array]}."""
    with create_hdf5() as (content, file):
        data = file.create_group("data")
        for layer, arrays in weights.items():
            if any(part in ("", ".") for part in layer.split("/")):
                raise DataError(f"HDF5 cannot keep a layer called {layer!r}")
            try:
                put(data.require_group(layer), arrays)
            except (TypeError, ValueError) as error:  # its name is the place of a blob
                raise DataError(f"HDF5 cannot keep a layer called {layer!r}: {error}") from error
    return content.getvalue()


def state_from_hdf5(content, path):
    """Returns the options of a SolverState in the HDF5 file `content`, read from `path`."""
    with open_hdf5(content, path) as file:
        return {
            "iteration": read_scalar(file, "iter", path),
            "current_step": read_scalar(file, "current_step", path),
            "weights": text(file, "learned_net", path),
            "history": tuple(arrays_by_number(inner(file, "history", path), f"{path}, history")),
        }


def state_to_hdf5(state):
    """Returns the content of an HDF5 file with a SolverState."""
    with create_hdf5() as (content, file):
        file["iter"] = np.array([state.iteration], np.int32)
        file["learned_net"] = np.bytes_(state.weights)
        file["current_step"] = np.array([state.current_step], np.int32)
        put(file.create_group("history"), state.history)
    return content.getvalue()


@contextmanager
def open_hdf5(content, path):
    """Opens the file to read from; whatever the library says of a damaged one is a DataError."""
    try:
        with h5py.File(io.BytesIO(content), "r") as file:
            yield file
    except DataError:
        raise
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise DataError(f"{path}: cannot be read as HDF5: {error}") from error


@contextmanager
def create_hdf5():
    """Gives (the buffer that will hold the content, the file to write to)."""
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        yield content, file


def put(group, arrays):
    for i, array in enumerate(arrays):
        array = np.asarray(array)
        group[str(i)] = array if array.dtype == np.float64 else array.astype(np.float32)


def groups(group, path, name="", seen=None):
    """Returns {name: group} of all layers: a name with a slash in it is a group in a group."""
    groups_by_name, seen = {}, set() if seen is None else seen
    for key in group:
        below = inner(group, key, path)
        if isinstance(below, h5py.Group):
            full = f"{name}/{key}" if name else key
            place = h5py.h5o.get_info(below.id).addr
            if place in seen:
                raise DataError(f"{path}: {full!r} is a group that is there under two names")
            seen.add(place)
            groups_by_name[full] = below
            groups_by_name |= groups(below, path, full, seen)
    return groups_by_name


def inner(group, key, path):
    """Returns the member of a group; refuses links to other files and places."""
    if not isinstance(group, h5py.Group) or key not in group:
        raise DataError(f"{path}: must be of Caffe, got an HDF5 file without {key!r}")
    if not isinstance(group.get(key, getlink=True), h5py.HardLink):
        raise DataError(f"{path}: {key!r} must lie in the file itself, got a link")
    return group[key]


def arrays_by_number(group, where):
    """Returns the arrays of a group in the order of their numbers."""
    keys = [key for key in group if isinstance(inner(group, key, where), h5py.Dataset)]
    if sorted(keys) != sorted(map(str, range(len(keys)))):
        raise DataError(f"{where}: blobs must be numbered from 0, got {sorted(keys)}")
    return [array_in(group[str(i)], where) for i in range(len(keys))]


def array_in(dataset, where):
    """Returns the numbers of a dataset, once it is known that the file holds as many."""
    if dataset.dtype.kind != "f" or dataset.dtype.itemsize not in (4, 8):
        raise DataError(f"{where}: blobs must be float32 or float64, got {dataset.dtype}")
    if dataset.is_virtual or dataset.external:
        raise DataError(f"{where}: blobs must lie in the file itself, got another file's")
    held = dataset.id.get_storage_size() * (DEFLATED if dataset.compression else 1)
    if dataset.shape is None or dataset.nbytes > held:
        raise DataError(f"{where}: a blob of shape {dataset.shape} has {held} bytes in the file")
    array = dataset[()]
    return np.asarray(array, array.dtype.newbyteorder("="))


def read_scalar(file, key, path):
    """Returns a number that Caffe keeps as an array of one."""
    array = value(file, key, path)
    if array.size != 1 or array.dtype.kind not in "iu":
        raise DataError(f"{path}: {key} must be one whole number, got {array}")
    return int(array.reshape(())[()])


def text(file, key, path):
    """Returns a text; empty where there is none."""
    array = value(file, key, path).reshape(-1)[:1] if key in file else np.array([b""])
    try:
        return array.tolist()[0].decode()
    except (AttributeError, IndexError, UnicodeDecodeError):
        raise DataError(f"{path}: {key} must be a text, got {array}") from None


def value(file, key, path):
    """Returns a small dataset, or None."""
    dataset = inner(file, key, path)
    plain = isinstance(dataset, h5py.Dataset) and dataset.shape is not None and dataset.size == 1
    return np.asarray(dataset[()] if plain else None)
