"""A state of which each worker holds a part: how the driver splits and reassembles it."""

from dataclasses import replace

import numpy as np

from sparkdl.nn.optimization.network_part import slots_part

PARAMS, SLOTS = "part.params", "part.slots"  # keys of the share a worker receives and sends back
EMPTY = np.empty(0, np.float32)


def common_state(replica):
    """Returns a worker's fields of a TrainState whose parts travel as `worker_state`."""
    return {"params": EMPTY, "buffers": replica.buffers, "slots": EMPTY}


def divide_state(conf, state, part_of):
    """Returns (the TrainState without the divided vectors, function (rank) that gives its share).

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    state : TrainState
    part_of : function (rank)
        Gives the VectorPart of the parameters that the worker holds.

    Returns
    -------
    TrainState, function
        A share is {name: vector}.
    """

    def share(rank):
        part = part_of(rank)
        slots = slots_part(conf, part)
        return {PARAMS: part.take(state.params), SLOTS: slots.take(state.slots)}

    return replace(state, params=EMPTY, slots=EMPTY), share


def join_state(conf, fields, parts):
    """Returns the fields of a complete TrainState, joined from the shares of workers.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    fields : {name: value}
        With the shares in "worker_states".
    parts : list of VectorPart
        By rank; the shares of any further workers are duplicates and are dropped.
    """
    states = [dict(state) for state in fields["worker_states"]]
    whole = {
        "params": joined(states, PARAMS, parts, conf.params_layout.size),
        "slots": joined(
            states, SLOTS, [slots_part(conf, p) for p in parts], conf.slots_layout.size
        ),
    }
    return fields | whole | {"worker_states": tuple(states) if any(states) else ()}


def joined(states, name, parts, size):
    """Returns the vector (size,) joined from parts that are popped from the states by name."""
    whole = np.empty(size, np.float32)
    for rank, state in enumerate(states):
        values = state.pop(name)
        if rank < len(parts):
            parts[rank].put(values, whole)
    return whole
