"""Which worker keeps what of a sharded state, and how the driver takes it apart and together."""

from dataclasses import replace

import numpy as np

from sparkdl.exchange.collectives.pieces import cuts
from sparkdl.nn.optimization.network_part import slots_part
from sparkdl.nn.optimization.vector_part import VectorPart
from sparkdl.training.masters.all_reduce.buckets import bucket_bytes, cut_buckets

SHARDS = ("optimizer", "gradients", "parameters")
PARAMS, SLOTS = "shard.params", "shard.slots"
EMPTY = np.empty(0, np.float32)


def params_part(master, conf, rank, workers):
    """Returns the VectorPart of the parameters that a worker keeps: its share of each bucket.

    It is the share that the worker sums in an all-reduce of the bucket.
    """
    _, buckets = cut_buckets(conf.params_layout.slices, bucket_bytes(master, conf) / 4)
    parts = []
    for bucket in reversed(buckets):
        edges = cuts(bucket.stop - bucket.start, workers)
        parts.append(slice(bucket.start + edges[rank], bucket.start + edges[rank + 1]))
    return VectorPart(tuple(parts))


def divide_state(master, conf, state, workers):
    """Returns (the TrainState without what is sharded, function (rank) that gives its share).

    Returns
    -------
    TrainState, function
        A share is {name: vector}.
    """

    def share(rank):
        part = params_part(master, conf, rank, workers)
        slots = slots_part(conf, part)
        return {PARAMS: part.take(state.params), SLOTS: slots.take(state.slots)}

    return replace(state, params=EMPTY, slots=EMPTY), share


def join_state(master, conf, fields):
    """Returns the fields of a TrainState, whole again, of which workers have sent their shares.

    Parameters
    ----------
    fields : {name: value}
        With the shares in "worker_states".
    """
    states = [dict(state) for state in fields["worker_states"]]
    parts = [params_part(master, conf, rank, len(states)) for rank in range(len(states))]
    whole = {"params": np.empty(conf.params_layout.size, np.float32)}
    for part, state in zip(parts, states, strict=True):
        part.put(state.pop(PARAMS), whole["params"])
    whole["slots"] = np.empty(conf.slots_layout.size, np.float32)
    for part, state in zip(parts, states, strict=True):
        slots_part(conf, part).put(state.pop(SLOTS), whole["slots"])
    return fields | whole | {"worker_states": tuple(states) if any(states) else ()}
