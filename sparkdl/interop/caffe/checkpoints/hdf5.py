"""Caffe's weights and solver states in HDF5.

Weights are at data/LAYER/0, 1 ...; a state has iter, learned_net, current_step and history/0, 1 ...
"""

import h5py
import numpy as np

from sparkdl.errors import DataError
from sparkdl.interop import hdf5
from sparkdl.interop.hdf5 import array_in, create_hdf5, open_untrusted_hdf5


def weights_from_hdf5(content, path):
    """Returns {layer: [array]} from the HDF5 file `content`, read from `path`."""
    with open_untrusted_hdf5(content, path) as file:
        layers, weights = groups(inner(file, "data", path), path), {}
        for name, group in layers.items():
            arrays = arrays_by_number(group, f"{path}, layer {name!r}")
            if arrays:
                weights[name] = arrays
        return weights


def weights_to_hdf5(weights):
    """Returns the contents of an HDF5 file with {layer: [array]}."""
    with create_hdf5() as (content, file):
        data = file.create_group("data")
        for layer, arrays in weights.items():
            if any(part in ("", ".") for part in layer.split("/")):
                raise DataError(f"HDF5 cannot keep a layer called {layer!r}")
            try:
                put(data.require_group(layer), arrays)
            except (TypeError, ValueError) as error:  # its name clashes with a blob's path
                raise DataError(f"HDF5 cannot keep a layer called {layer!r}: {error}") from error
    return content.getvalue()


def state_from_hdf5(content, path):
    """Returns the options of a SolverState from the HDF5 file `content`, read from `path`."""
    with open_untrusted_hdf5(content, path) as file:
        return {
            "iteration": read_scalar(file, "iter", path),
            "current_step": read_scalar(file, "current_step", path),
            "weights": text(file, "learned_net", path),
            "history": tuple(arrays_by_number(inner(file, "history", path), f"{path}, history")),
        }


def state_to_hdf5(state):
    """Returns the contents of an HDF5 file with a SolverState."""
    with create_hdf5() as (content, file):
        file["iter"] = np.array([state.iteration], np.int32)
        file["learned_net"] = np.bytes_(state.weights)
        file["current_step"] = np.array([state.current_step], np.int32)
        put(file.create_group("history"), state.history)
    return content.getvalue()


def put(group, arrays):
    for i, array in enumerate(arrays):
        array = np.asarray(array)
        group[str(i)] = array if array.dtype == np.float64 else array.astype(np.float32)


def groups(group, path, name="", seen=None):
    """Returns {name: group} of all layers; a name with a slash is a group within a group."""
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
    """Returns the member of a group; refuses soft and external links."""
    return hdf5.inner(group, key, path, "Caffe")


def arrays_by_number(group, where):
    """Returns the arrays of a group, ordered by number."""
    keys = [key for key in group if isinstance(inner(group, key, where), h5py.Dataset)]
    if sorted(keys) != sorted(map(str, range(len(keys)))):
        raise DataError(f"{where}: blobs must be numbered from 0, got {sorted(keys)}")
    return [array_in(group[str(i)], where) for i in range(len(keys))]


def read_scalar(file, key, path):
    """Returns an integer that Caffe stores as an array of one element."""
    array = value(file, key, path)
    if array.size != 1 or array.dtype.kind not in "iu":
        raise DataError(f"{path}: {key} must be one whole number, got {array}")
    return int(array.reshape(())[()])


def text(file, key, path):
    """Returns a text, empty if missing."""
    array = value(file, key, path).reshape(-1)[:1] if key in file else np.array([b""])
    try:
        return array.tolist()[0].decode()
    except (AttributeError, IndexError, UnicodeDecodeError):
        raise DataError(f"{path}: {key} must be a text, got {array}") from None


def value(file, key, path):
    """Returns a dataset of one element as an array."""
    dataset = inner(file, key, path)
    plain = isinstance(dataset, h5py.Dataset) and dataset.shape is not None and dataset.size == 1
    return np.asarray(dataset[()] if plain else None)
