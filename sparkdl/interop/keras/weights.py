"""Arrays in weights files: of Keras 3 by groups, of earlier versions by layer names."""

from collections import Counter

import h5py
import numpy as np

from sparkdl.errors import DataError, UnsupportedError
from sparkdl.interop.hdf5 import array_in, inner, open_untrusted_hdf5

ROOTS = ("layers", "_layer_checkpoint_dependencies")  # the second: Keras 2.12
NAMES = "weight_names"
UNUSED = np.zeros(1)  # in place of an array that no vertex has
MOST = 1 << 20  # bytes of names in an attribute; Keras splits them at 64,512


def read_arrays(content, path, taken):
    """Returns the array for each Taken from a weights file's `content`.

    Raises
    ------
    DataError
        If the file is damaged, or arrays are missing or differ in shape; lists all of them.
    """
    with open_untrusted_hdf5(content, path) as file:
        find = by_layer if is_legacy(file) else by_group
        found = find(file, path, taken)
        return fit(taken, found, path)


def is_legacy(file):
    return "model_weights" in file or "layer_names" in file.attrs


def fit(taken, arrays, path):
    """Returns converted arrays, all of the shapes that the network needs."""
    ours, wrong = [], []
    for take, array in zip(taken, arrays, strict=True):
        try:
            changed = np.ascontiguousarray(take.take.change(array), np.float32)
            if changed.shape != take.shape:
                raise ValueError(f"{array.shape}, which is not that of {take.shape}")
            ours.append(changed)
        except (ValueError, IndexError, TypeError) as error:
            wrong.append(f"{take.vertex}: {take.ours} has a shape of {error}")
    if wrong:
        raise DataError(f"{path}: weights must fit the layers:\n  " + "\n  ".join(wrong[:20]))
    return ours


def by_group(file, path, taken):
    """Finds each array in the groups of its layer, as "vars/0" and so on."""
    counts, arrays, places = Counter(), [], []
    for take in taken:
        place = "/".join([*take.path, *filter(None, [take.take.path]), "vars"])
        places.append((place, counts[place]))
        counts[place] += 1
    groups = {place: group_of(file, place, path, counts[place]) for place in counts}
    for take, (place, number) in zip(taken, places, strict=True):
        where = f"{path}, {place}"
        arrays.append(dataset(groups[place], str(number), where) if take.ours else UNUSED)
    return arrays


def group_of(file, place, path, count):
    """Returns the group at a path, which must have `count` arrays."""
    first, *rest = place.split("/")
    roots = [root for root in ROOTS if root in file] if first == "layers" else [first]
    group = file
    for key in [*roots[:1], *rest] if roots else [first]:
        group = inner(group, key, path, "Keras")
    if len(group) != count:
        raise DataError(f"{path}: {place} must hold {count} arrays, got {len(group)}")
    return group


def dataset(group, key, where):
    found = inner(group, key, where, "Keras")
    if not isinstance(found, h5py.Dataset):
        raise DataError(f"{where}: {key!r} must be an array")
    return array_in(found, where)


def by_layer(file, path, taken):
    """Finds the arrays of each layer in the order of its list of names.

    A nested model lists all trained arrays first.
    """
    root = inner(file, "model_weights", path, "Keras") if "model_weights" in file else file
    layers = {}
    for i, take in enumerate(taken):
        layers.setdefault(take.legacy, []).append(i)
    arrays = [None] * len(taken)
    for layer, indices in layers.items():
        group = inner(root, layer, path, "Keras")
        names = weight_names(group, f"{path}, layer {layer!r}")
        if len(names) != len(indices):
            raise DataError(f"{path}: {layer} must hold {len(indices)} arrays, got {len(names)}")
        order = sorted(indices, key=lambda i: (not taken[i].trained, taken[i].rank))
        for i, name in zip(order, names, strict=True):
            where = f"{path}, layer {layer!r}"
            arrays[i] = nested_dataset(group, name, where) if taken[i].ours else UNUSED
    return arrays


def read_optimizer(content, path, count, has_rate=True):
    """Returns (number of updates, [array]) of an optimizer with `count` arrays; None without state.

    With `has_rate` its learning rate is a number, which Keras then stores as well.
    """
    own = 1 + has_rate  # number of arrays of the optimizer itself
    with open_untrusted_hdf5(content, path) as file:
        if is_legacy(file):
            find = optimizer_by_name(file, path)
        else:
            find = optimizer_by_number(file, path)
        if len(find) <= own:  # no update was done yet
            return None
        if len(find) != count + own:
            wanted = f"{count + own} arrays, got {len(find)}"
            raise DataError(f"{path}: the optimizer must hold {wanted}")
        others = find[own:]
        return counter(find[0], path), [array_in(one, f"{path}, optimizer") for one in others]


def optimizer_by_number(file, path):
    if "optimizer" not in file:
        return []
    group = inner(inner(file, "optimizer", path, "Keras"), "vars", path, "Keras")
    return [inner(group, str(i), path, "Keras") for i in range(len(group))]


def optimizer_by_name(file, path):
    if "optimizer_weights" not in file:
        return []
    group = inner(file, "optimizer_weights", path, "Keras")
    return [member_at(group, name, path) for name in weight_names(group, path)]


def counter(dataset, path):
    """Returns the number of updates."""
    plain = isinstance(dataset, h5py.Dataset) and dataset.size == 1 and dataset.dtype.kind in "iu"
    if not plain or int(dataset[()]) < 0:
        raise DataError(f"{path}: the optimizer must begin with the number of its updates")
    return int(dataset[()])


def member_at(group, name, where):
    """Returns the member at a path of groups and a dataset."""
    for part in filter(None, name.split("/")):
        group = inner(group, part, where, "Keras")
    return group


def nested_dataset(group, name, where):
    *folders, last = [part for part in name.split("/") if part] or [""]
    for folder in folders:
        group = inner(group, folder, where, "Keras")
    return dataset(group, last, where)


def weight_names(group, where):
    """Returns the list in `weight_names`, which may be split into weight_names0 and so on."""
    parts = [NAMES] if NAMES in group.attrs else []
    while not parts or parts[-1] != NAMES:
        following = f"{NAMES}{len(parts)}"
        if following not in group.attrs:
            break
        parts.append(following)
    if not parts:
        raise DataError(f"{where}: must have {NAMES}")
    return [text for part in parts for text in attribute(group, part, where)]


def attribute(group, name, where):
    """Returns the texts of an attribute, after checking that the file can hold them."""
    about = group.attrs.get_id(name)
    is_text = h5py.check_string_dtype(about.dtype) or about.shape == (0,)
    if not is_text or np.prod(about.shape, dtype=float) * about.dtype.itemsize > MOST:
        raise DataError(f"{where}: {name} must hold texts, got {about.shape} of {about.dtype}")
    values = np.atleast_1d(group.attrs[name]).reshape(-1).tolist()
    try:
        return [one.decode() if isinstance(one, bytes) else str(one) for one in values]
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: {name} must hold texts: {error}") from error


def text_of(group, name, where):
    """Returns the only text of an attribute, or None."""
    if name not in group.attrs:
        return None
    [text] = attribute(group, name, where)[:1] or [None]
    return text


def is_hdf5(content):
    return content[:8] == b"\x89HDF\r\n\x1a\n"


def refuse_shards(names, path):
    """Raises UnsupportedError for weights sharded over several files."""
    if any(name.endswith(".weights.json") for name in names):
        raise UnsupportedError(f"{path}: weights in several files are not read")
