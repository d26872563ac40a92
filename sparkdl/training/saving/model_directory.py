"""Models on disk: a directory with the network as JSON, its vectors, and a manifest."""

import json

import numpy as np
import safetensors
import safetensors.numpy

from sparkdl.errors import CheckpointError, ConfigError, ShapeError
from sparkdl.nn import conf_from_json
from sparkdl.nn.tables.embedding_bag import load_tables
from sparkdl.training.saving.manifest import (
    as_text,
    parse_json,
    read_directory,
    read_manifest,
    write_directory,
)
from sparkdl.training.saving.state import COUNTERS, TrainState

NETWORK, TRAINING, VECTORS = "network.json", "training.json", "vectors.safetensors"
WORKERS = "workers.safetensors"  # the state of each worker alone; only if there is any
TABLES = "tables.safetensors"  # only of a network with tables that have rows
NAMES = ("params", "buffers", "slots")
MASTER_PREFIX = "kept."  # before the names of what a master carries on besides


def save_model(path, conf, state, extra=None):
    """Writes a network and its state as the directory `path`, whole or not at all.

    Parameters
    ----------
    path : str or Path
        Local, or a URI of a file system that sparkdl.data knows. A model that is there is replaced
        once the new one is whole; anything else that is there is left alone and refused.
    conf : NetworkConf
    state : TrainState
    extra : dict or None
        What else to keep; JSON values only (lists for tuples).

    Raises
    ------
    CheckpointError
        `path` holds something else, the state does not fit the network, or extra is no JSON.
    """
    _check_vectors("the state", conf, {name: getattr(state, name) for name in NAMES})
    training = {"state": state.counters, "extra": extra or {}, "owner": state.owner}
    training["rate_factor"] = state.rate_factor
    contents = {
        NETWORK: conf.to_json().encode(),
        TRAINING: _to_json(training).encode(),
        VECTORS: safetensors.numpy.save(
            {name: np.ascontiguousarray(vector) for name, vector in _vectors_by_name(state).items()}
        ),
    }
    if state.worker_states:
        contents[WORKERS] = safetensors.numpy.save(_of_workers(state.worker_states))
    if state.tables:
        _check_tables("the state", conf, state.tables)
        contents[TABLES] = safetensors.numpy.save(state.tables)
    if _network(NETWORK, contents[NETWORK]) != conf:  # it must not replace one that can be read
        raise CheckpointError(f"the network must survive its JSON: {conf}")
    write_directory(path, contents)


def load_model(path):
    """Loads a model written by `save_model`: (NetworkConf, TrainState, extra).

    Raises
    ------
    CheckpointError
        Missing, damaged, foreign or of a later format; names the file and what is wrong with it.
    """
    path = as_text(path)
    names = (NETWORK, TRAINING, VECTORS)
    present = read_manifest(path)["files"]
    names += tuple(name for name in (WORKERS, TABLES) if name in present)
    contents = dict(read_directory(path, names))
    conf = _network(f"{path}/{NETWORK}", contents[NETWORK])
    vectors = _vectors(f"{path}/{VECTORS}", contents.pop(VECTORS))
    _check_vectors(f"{path}/{VECTORS}", conf, vectors)
    counters, extra, others = _training(f"{path}/{TRAINING}", contents[TRAINING])
    master_state = {
        n.removeprefix(MASTER_PREFIX): vectors.pop(n) for n in list(vectors) if n not in NAMES
    }
    worker_states = ()
    if WORKERS in contents:
        worker_states = _by_worker(f"{path}/{WORKERS}", contents.pop(WORKERS))
    states = {"master_state": master_state, "worker_states": worker_states}
    if TABLES in contents:
        states["tables"] = _arrays(f"{path}/{TABLES}", contents.pop(TABLES))
        _check_tables(f"{path}/{TABLES}", conf, states["tables"])
    try:
        return conf, TrainState(**vectors, **counters, **states, **others), extra
    except ConfigError as error:
        raise CheckpointError(f"{path}/{TRAINING}: {error}") from error


def _vectors_by_name(state):
    """Returns {name in the file: vector}"""
    vectors = {name: getattr(state, name) for name in NAMES}
    return vectors | {MASTER_PREFIX + name: vector for name, vector in state.master_state.items()}


def _of_workers(worker_states):
    """Returns {"rank.name": vector}"""
    return {
        f"{rank}.{name}": np.ascontiguousarray(vector)
        for rank, vectors in enumerate(worker_states)
        for name, vector in vectors.items()
    }


def _by_worker(path, content):
    """Returns ({name: vector} of each worker), from what `_of_workers` gave."""
    states = {}
    for name, vector in _arrays(path, content).items():
        rank, _, rest = name.partition(".")
        if not (rank.isdecimal() and rest):
            raise CheckpointError(f"{path}: names must begin with a worker's number, got {name!r}")
        states.setdefault(int(rank), {})[rest] = vector
    if sorted(states) != list(range(len(states))):
        raise CheckpointError(f"{path}: must hold workers from 0 on, got {sorted(states)}")
    return tuple(states[rank] for rank in range(len(states)))


def _network(path, content):
    try:
        return conf_from_json(content.decode())
    except ValueError as error:  # also ConfigError, ShapeError, bytes that are no text
        raise CheckpointError(f"{path}: {error}") from error


def _training(path, content):
    training = parse_json(path, content)
    counters, extra = training.get("state"), training.get("extra")
    if isinstance(counters, dict):
        counters = {"done": 0} | counters  # models of before rounds could be cut lack it
    if not isinstance(counters, dict) or set(counters) != set(COUNTERS):
        raise CheckpointError(f"{path}: state must have {list(COUNTERS)}, got {counters!r}")
    if not isinstance(extra, dict):
        raise CheckpointError(f"{path}: extra must be a JSON object, got {extra!r}")
    others = {"owner": "", "rate_factor": 1.0}  # which older models lack
    return counters, extra, {name: training.get(name, least) for name, least in others.items()}


def _vectors(path, content):
    loaded = _arrays(path, content)
    if {name for name in loaded if not name.startswith(MASTER_PREFIX)} != set(NAMES):
        raise CheckpointError(f"{path}: must hold {list(NAMES)}, got {sorted(loaded)}")
    return loaded


def _arrays(path, content):
    try:
        loaded = safetensors.numpy.load(content)
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: not a safetensors file, {error}") from error
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
        load_tables(conf, arrays)
    except (ConfigError, ShapeError) as error:
        raise CheckpointError(f"{where}: {error}") from error


def _to_json(value):
    try:
        return json.dumps(value, indent=2, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"extra must be JSON values: {error}") from error
