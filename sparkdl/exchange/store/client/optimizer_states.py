"""File of the states of a store's optimizer, written to another name first and then renamed.

It is a numpy archive (.npz) of plain arrays, with a table of contents in JSON. The whole of a key
is kept together, so that another number of servers can read it.
"""

import json
import os
import zipfile

import numpy as np

from sparkdl.errors import CheckpointError

CONTENTS, FORMAT = "contents", "sparkdl optimizer states 1"


def collect_states(stretches, slots_of):
    """Returns {key: {name: array}} of all keys.

    Parameters
    ----------
    stretches : {key: [Stretch]}
    slots_of : callable
        `slots_of(key, stretch)` is {name: array} of one part.
    """
    return {
        key: join_slots(parts, [slots_of(key, part) for part in parts])
        for key, parts in stretches.items()
    }


def join_slots(stretches, several):
    """Joins slots as long as their parts; of others, returns the first part's."""
    first = several[0]
    return {
        name: np.concatenate([slots[name] for slots in several])
        if is_long(first[name], stretches[0])
        else first[name]
        for name in first
    }


def split_states(kept, stretches):
    """Yields (key, Stretch, slots of this part) for all parts.

    Raises CheckpointError where they do not fit.
    """
    if kept.keys() != stretches.keys():
        raise CheckpointError(
            f"optimizer states must be those of keys {sorted(stretches)}, got {sorted(kept)}"
        )
    for key, parts in stretches.items():
        length = parts[-1].stop
        for name, array in kept[key].items():
            if array.ndim == 1 and len(array) != length:
                raise CheckpointError(
                    f"slot {name!r} of {key!r} must have {length} numbers, got {len(array)}"
                )
        for part in parts:
            yield key, part, {n: cut(array, part, length) for n, array in kept[key].items()}


def cut(array, part, length):
    return array[part.start : part.stop] if array.shape == (length,) else array


def is_long(array, part):
    return array.shape == (part.stop - part.start,)


def write(path, kept):
    """Writes {key: {name: array}} as the file `path`, whole or not at all."""
    path = os.fspath(path)
    contents, arrays = {}, {}
    for key, slots in kept.items():
        contents[key] = {name: f"a{len(arrays) + i}" for i, name in enumerate(slots)}
        arrays |= zip(contents[key].values(), slots.values(), strict=True)
    text = json.dumps({"format": FORMAT, "keys": contents}).encode()
    beside = f"{path}.{os.getpid()}.part"
    try:
        with open(beside, "wb") as file:
            np.savez(file, **arrays, **{CONTENTS: np.frombuffer(text, np.uint8)})
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        if os.path.exists(beside):
            os.remove(beside)


def read(path):
    """Reads the states that `write` has written to the file `path`."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            contents = json.loads(archive[CONTENTS].tobytes())
            if contents["format"] != FORMAT:
                raise CheckpointError(f"{path}: format must be {FORMAT!r}, got {contents}")
            return {
                key: {name: archive[entry] for name, entry in slots.items()}
                for key, slots in contents["keys"].items()
            }
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise CheckpointError(f"{path}: no optimizer states: {error}") from error
