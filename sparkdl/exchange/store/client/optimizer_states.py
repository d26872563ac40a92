"""File with the states of a store's optimizer, written under a temporary name and then renamed.

It is a numpy archive (.npz) of plain arrays, with a table of contents in JSON. Keys are stored
whole, so the number of servers may differ when it is read.
"""

import json
import math
import os
import zipfile
from pathlib import Path
from tokenize import TokenError

import numpy as np

from sparkdl.errors import CheckpointError, text_of
from sparkdl.own_folders import replaced_file

CONTENTS, FORMAT = "contents", "sparkdl optimizer states 1"
DAMAGE = (  # what zipfile, numpy and JSON raise for it
    zipfile.BadZipFile,
    OSError,
    EOFError,
    ValueError,
    LookupError,
    OverflowError,
    TypeError,
    AttributeError,
    RuntimeError,
    SyntaxError,
    TokenError,
)


def collect_states(key_slices, slots_of):
    """Returns {key: {name: array}} of all keys.

    Parameters
    ----------
    key_slices : {key: [KeySlice]}
    slots_of : callable
        `slots_of(key, key_slice)` returns {name: array} of one slice.
    """
    return {
        key: join_slots(parts, [slots_of(key, part) for part in parts])
        for key, parts in key_slices.items()
    }


def join_slots(key_slices, slots_by_part):
    """Concatenates slots that are as long as their slices; of other slots, returns the first."""
    first = slots_by_part[0]
    return {
        name: np.concatenate([slots[name] for slots in slots_by_part])
        if is_long(first[name], key_slices[0])
        else first[name]
        for name in first
    }


def split_states(states, key_slices):
    """Yields (key, KeySlice, slots of the slice) for all slices.

    Raises CheckpointError if the states do not fit.
    """
    if states.keys() != key_slices.keys():
        raise CheckpointError(
            f"optimizer states must be those of keys {sorted(key_slices)}, got {sorted(states)}"
        )
    for key, parts in key_slices.items():
        length = parts[-1].stop
        for name, array in states[key].items():
            if array.ndim == 1 and len(array) != length:
                raise CheckpointError(
                    f"slot {name!r} of {key!r} must have {length} numbers, got {len(array)}"
                )
        for part in parts:
            yield key, part, {n: cut(array, part, length) for n, array in states[key].items()}


def cut(array, part, length):
    return array[part.start : part.stop] if array.shape == (length,) else array


def is_long(array, part):
    return array.shape == (part.stop - part.start,)


def write(path, states):
    """Atomically writes {key: {name: array}} to the file `path`."""
    contents, arrays = {}, {}
    for key, slots in states.items():
        contents[key] = {name: f"a{len(arrays) + i}" for i, name in enumerate(slots)}
        arrays |= zip(contents[key].values(), slots.values(), strict=True)
    text = json.dumps({"format": FORMAT, "keys": contents}).encode()
    try:
        with replaced_file(Path(path)) as file:
            np.savez(file, **arrays, **{CONTENTS: np.frombuffer(text, np.uint8)})
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be written: {error.strerror or error}") from error


def read(path):
    """Reads the states that `write` has written to `path`. Raises CheckpointError."""
    try:
        with zipfile.ZipFile(path) as archive:
            if any(member.compress_type for member in archive.infolist()):
                raise ValueError("compressed members, which may expand to any size")
            contents = json.loads(read_array(archive, CONTENTS).tobytes())
            if contents["format"] != FORMAT:
                raise CheckpointError(f"{path}: format must be {FORMAT!r}, got {contents}")
            return {
                key: {name: read_array(archive, entry) for name, entry in slots.items()}
                for key, slots in contents["keys"].items()
            }
    except DAMAGE as error:
        raise CheckpointError(f"{path}: must hold optimizer states: {text_of(error)}") from error


def read_array(archive, name):
    """Reads a member; a MemoryError is then a lack of memory for an array that is all there."""
    member = archive.getinfo(f"{name}.npy")
    found = min(member.file_size, os.fstat(archive.fp.fileno()).st_size)
    with archive.open(member) as file:
        expected = read_length(file)
        if expected > found:
            raise ValueError(f"{name} must have {expected} bytes, got {found}")
        file.seek(0)
        return np.lib.format.read_array(file, allow_pickle=False)


def read_length(file):
    """Reads the header of an array; returns the bytes of header and array together."""
    try:
        if np.lib.format.read_magic(file) == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        else:
            shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    except MemoryError as error:  # raised by Python's parser for deep nesting
        raise ValueError("an array's header must be one of numpy's") from error
    return file.tell() + math.prod(shape) * dtype.itemsize
