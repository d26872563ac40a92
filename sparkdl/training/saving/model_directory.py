"""Models on disk: a directory with the network as JSON, its vectors, and a manifest."""

import json
import re

import numpy as np
import safetensors
import safetensors.numpy

from sparkdl.config.member import UnknownMember
from sparkdl.data import files
from sparkdl.errors import CheckpointError, ConfigError, DataError, ShapeError, brief, text_of
from sparkdl.nn import conf_from_json
from sparkdl.nn.tables.embedding_bag import check_names, groups_of, load_groups
from sparkdl.training.reporting.counters import ENDING
from sparkdl.training.saving.manifest import (
    as_text,
    file_path,
    parse_json,
    read_directory,
    read_manifest,
    write_directory,
)
from sparkdl.training.saving.slots_owner import slots_owner
from sparkdl.training.saving.state import COUNTERS, TrainState
from sparkdl.training.saving.stored_tables import StoredTables
from sparkdl.training.saving.table_file import known_file

NETWORK, TRAINING, VECTORS = "network.json", "training.json", "vectors.safetensors"
WORKERS = "workers.safetensors"  # the state of each worker alone; only if there is any
TABLES = "tables.safetensors"  # only if the network has tables with rows
LONGEST_RANK = 9  # digits
SHARDS = re.compile(r"tables-(\d{1,9})-(\d{1,9})\.safetensors")  # number of an owner, of its file
NAMES = ("params", "buffers", "slots")
OLDER = {"owner": "", "rate_factor": 1.0, "place": ""}  # defaults of fields that older models lack
MASTER_PREFIX = "kept."  # of the names of vectors in `master_state`
ENDING_PREFIX = f"{ENDING}-"  # of the files of the state to end with


def save_model(path, conf, state, extra=None, *, pool=None):
    """Writes a network and its state as the directory `path`, completely or not at all.

    Parameters
    ----------
    path : str or Path
        Local, or a URI of a file system that sparkdl.data knows. An existing model is replaced once
        the new one is complete; anything else is left alone and refused.
    conf : NetworkConf
    state : TrainState
    extra : dict or None
        Further data to keep: JSON values (lists for tuples), and the TrainState to end with.
    pool : TablePool or None
        Of the folder that contains `path`, for files of rows shared with other checkpoints.

    Raises
    ------
    CheckpointError
        If `path` holds something else, the state does not fit the network, or extra is not JSON.
    """
    extra = dict(extra or {})
    ending = extra.pop(ENDING, None)
    training = _numbers_of(state) | {"extra": extra}
    arrays = _arrays_of(conf, state)
    if ending is not None:
        training[ENDING] = _numbers_of(ending)
        arrays |= {ENDING_PREFIX + name: of for name, of in _arrays_of(conf, ending).items()}
    contents = {NETWORK: conf.to_json().encode(), TRAINING: _to_json(training).encode()}
    contents |= {name: safetensors.numpy.save(of) for name, of in arrays.items()}
    contents |= _files_of(state)
    if ending is not None:
        contents |= {ENDING_PREFIX + name: file for name, file in _files_of(ending).items()}
    if _network(NETWORK, contents[NETWORK]) != conf:  # must not replace a readable model
        raise CheckpointError(f"the network must survive its JSON: {conf}")
    write_directory(path, contents, pool)


def load_model(path):
    """Loads a model written by `save_model`: (NetworkConf, TrainState, extra).

    Raises
    ------
    CheckpointError
        If it is missing, damaged, foreign or of a later format; names the file and the problem.
    """
    path = as_text(path)
    optional = [WORKERS, TABLES, *(ENDING_PREFIX + name for name in (VECTORS, WORKERS, TABLES))]
    present = read_manifest(path)["files"]
    names = NETWORK, TRAINING, VECTORS, *(name for name in optional if name in present)
    rows = [name for name in present if SHARDS.fullmatch(name.removeprefix(ENDING_PREFIX))]
    contents = dict(read_directory(path, names, rows))
    contents |= {name: _table_file(path, name, present[name]) for name in rows}
    conf = _network(f"{path}/{NETWORK}", contents[NETWORK])
    training, extra = _training(f"{path}/{TRAINING}", contents[TRAINING])
    state = _state(path, conf, training, contents)
    if ENDING_PREFIX + VECTORS in contents:
        extra[ENDING] = _state(path, conf, training.get(ENDING), contents, ENDING_PREFIX)
    return conf, state, extra


def _numbers_of(state):
    """Returns a state's entry in TRAINING."""
    return {"state": state.counters} | {name: getattr(state, name) for name in OLDER}


def _arrays_of(conf, state):
    """Returns {file: {name: array}} of a state that fits the network."""
    _check_vectors("the state", conf, {name: getattr(state, name) for name in NAMES})
    vectors = _vectors_by_name(state).items()
    arrays = {VECTORS: {name: np.ascontiguousarray(vector) for name, vector in vectors}}
    if state.worker_states:
        arrays[WORKERS] = _of_workers(state.worker_states)
    if state.tables and not isinstance(state.tables, StoredTables):
        _check_tables("the state", conf, state.tables)
        arrays[TABLES] = state.tables
    return arrays


def _state(path, conf, numbers, contents, prefix=""):
    """Returns the TrainState from its entry in TRAINING and the files with this prefix."""
    where = {name: f"{path}/{prefix}{name}" for name in (VECTORS, WORKERS, TABLES)}
    found = {name: contents.pop(prefix + name, None) for name in where}
    vectors = _vectors(where[VECTORS], found[VECTORS])
    _check_vectors(where[VECTORS], conf, vectors)
    kept = {n.removeprefix(MASTER_PREFIX): vectors.pop(n) for n in [*vectors] if n not in NAMES}
    states = {"master_state": kept}
    if found[WORKERS] is not None:
        states["worker_states"] = _by_worker(where[WORKERS], found[WORKERS])
    if found[TABLES] is not None:
        states["tables"] = _arrays(where[TABLES], found[TABLES])
        _check_tables(where[TABLES], conf, states["tables"])
    if stored := _stored_tables(path, prefix, contents):
        _check_files(conf, stored)
        states["tables"] = stored.read() if files.is_local(path) else stored
    try:
        numbers = _numbers(f"{path}/{TRAINING}", numbers)
        return TrainState(**vectors, **states, **numbers, slots_owner=slots_owner(conf))
    except ConfigError as error:
        raise CheckpointError(f"{path}/{TRAINING}: {error}") from error


def _files_of(state):
    """Returns {name: TableFile} of a state whose rows are stored in files."""
    shards = state.tables.shards if isinstance(state.tables, StoredTables) else ()
    return {
        f"tables-{owner:05d}-{number:05d}.safetensors": file
        for owner, shard in enumerate(shards)
        for number, file in enumerate(shard)
    }


def _check_files(conf, stored):
    """Raises CheckpointError for files whose headers do not fit the network's tables."""
    groups = groups_of(conf)
    for file in stored.files:
        try:
            arrays = file.lengths()
            check_names(groups, arrays)
            for store in (store for group in groups for store in group.stores):
                store.check_arrays(arrays)
        except (ConfigError, DataError, ShapeError, OSError) as error:
            raise CheckpointError(f"{file.path}: {error}") from error


def _table_file(path, name, entry):
    return known_file(file_path(path, name, entry), entry["bytes"], entry["sha256"])


def _stored_tables(path, prefix, contents):
    """Returns the StoredTables of the files of rows with this prefix, removing them from
    `contents`.
    """
    found = {}
    for name in list(contents):
        match = name.startswith(prefix) and SHARDS.fullmatch(name[len(prefix) :])
        if match:
            found[int(match[1]), int(match[2])] = contents.pop(name)
    owners = {owner: [n for of, n in sorted(found) if of == owner] for owner, _ in found}
    for owner, numbers in owners.items():
        if numbers != list(range(len(numbers))) or owner >= len(owners):
            raise CheckpointError(
                f"{path}: must hold files of rows by owner and number, each from 0 on, got "
                f"{sorted(found)}"
            )
    shards = (tuple(found[owner, n] for n in owners[owner]) for owner in range(len(owners)))
    return StoredTables(tuple(shards))


def _vectors_by_name(state):
    """Returns {name in the file: vector}."""
    vectors = {name: getattr(state, name) for name in NAMES}
    return vectors | {MASTER_PREFIX + name: vector for name, vector in state.master_state.items()}


def _of_workers(worker_states):
    """Returns {"rank.name": vector}."""
    return {
        f"{rank}.{name}": np.ascontiguousarray(vector)
        for rank, vectors in enumerate(worker_states)
        for name, vector in vectors.items()
    }


def _by_worker(path, content):
    """Returns ({name: vector} of each worker), from the result of `_of_workers`."""
    states = {}
    for name, vector in _arrays(path, content).items():
        rank, _, rest = name.partition(".")
        if not (rank.isdecimal() and len(rank) <= LONGEST_RANK and rest):
            raise CheckpointError(
                f"{path}: names must begin with a worker's number, got {brief(name)}"
            )
        states.setdefault(int(rank), {})[rest] = vector
    if sorted(states) != list(range(len(states))):
        raise CheckpointError(f"{path}: must hold workers from 0 on, got {sorted(states)}")
    return tuple(states[rank] for rank in range(len(states)))


def _network(path, content):
    try:
        return conf_from_json(content.decode())
    except ValueError as error:  # includes ConfigError, ShapeError, undecodable bytes
        raise CheckpointError(f"{path}: {error}{_cure(error)}") from error


def _cure(error):
    """Returns "; " and a cure if a network has a member that this process does not know."""
    while error is not None and not isinstance(error, UnknownMember):
        error = error.__context__  # errors of nested options hide their causes
    return "" if error is None else "; import the module that defines it before, if it is your own"


def _training(path, content):
    training = parse_json(path, content)
    if not isinstance(extra := training.get("extra"), dict):
        raise CheckpointError(f"{path}: extra must be a JSON object, got {brief(extra)}")
    return training, extra


def _numbers(path, numbers):
    """Returns {field: value} of a TrainState's fields other than arrays."""
    counters = numbers.get("state") if isinstance(numbers, dict) else None
    if isinstance(counters, dict):
        counters = {"done": 0} | counters  # missing in models from before rounds could be cut
    if not isinstance(counters, dict) or set(counters) != set(COUNTERS):
        raise CheckpointError(f"{path}: state must have {list(COUNTERS)}, got {brief(counters)}")
    return counters | {name: numbers.get(name, default) for name, default in OLDER.items()}


def _vectors(path, content):
    loaded = _arrays(path, content)
    if {name for name in loaded if not name.startswith(MASTER_PREFIX)} != set(NAMES):
        raise CheckpointError(f"{path}: must hold {list(NAMES)}, got {sorted(loaded)}")
    return loaded


def _arrays(path, content):
    try:
        loaded = safetensors.numpy.load(content)
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: not a safetensors file, {text_of(error)}") from error
    return {name: np.require(array, requirements="CAW") for name, array in loaded.items()}


def _check_vectors(where, conf, vectors):
    layouts = (conf.params_layout, conf.buffers_layout, conf.slots_layout)
    for name, size in zip(NAMES, (layout.size for layout in layouts), strict=True):
        vector = vectors[name]
        if vector.shape != (size,):
            need = f"{NETWORK} needs {size} numbers in {name}"
            actual = vector.size if vector.ndim == 1 else f"shape {vector.shape}"
            raise CheckpointError(f"{where}: {need}, got {actual}")
        if vector.dtype != np.float32:
            need = f"{NETWORK} needs float32 in {name}"
            raise CheckpointError(f"{where}: {need}, got {vector.dtype}")


def _check_tables(where, conf, arrays):
    try:
        load_groups(conf, arrays)
    except (ConfigError, ShapeError) as error:
        raise CheckpointError(f"{where}: {error}") from error


def _to_json(value):
    try:
        return json.dumps(value, indent=2, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"extra must be JSON values: {error}") from error
