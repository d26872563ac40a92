"""Which worker keeps what of a sharded state."""

from sparkdl.exchange.collectives.pieces import cuts
from sparkdl.nn.optimization.vector_part import VectorPart
from sparkdl.training.masters import divided_state
from sparkdl.training.masters.all_reduce.buckets import bucket_bytes, cut_buckets

SHARDS = ("optimizer", "gradients", "parameters")


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
    """Returns what `divided_state.divide_state` does, for the shares of so many workers."""
    return divided_state.divide_state(
        conf, state, lambda rank: params_part(master, conf, rank, workers)
    )


def join_state(master, conf, fields):
    """Returns what `divided_state.join_state` does, for the shares of all workers."""
    workers = len(fields["worker_states"])
    parts = [params_part(master, conf, rank, workers) for rank in range(workers)]
    return divided_state.join_state(conf, fields, parts)
