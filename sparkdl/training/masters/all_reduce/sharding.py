"""Assignment of the parts of a sharded state to workers."""

from dataclasses import replace

from sparkdl.exchange.collectives.pieces import cuts
from sparkdl.nn.optimization.vector_part import VectorPart
from sparkdl.nn.tables.table_shard import join_tables, split_tables
from sparkdl.training.masters import divided_state
from sparkdl.training.masters.all_reduce.buckets import bucket_bytes, cut_buckets
from sparkdl.training.masters.all_reduce.shard_writer import read_files
from sparkdl.training.resident.per_worker_state import prefix, worker_state_part
from sparkdl.training.saving.stored_tables import StoredTables

SHARDS = ("optimizer", "gradients", "parameters")
TABLES = "tables"  # prefix of the row arrays that a worker receives and sends back


def params_part(master, conf, rank, workers):
    """Returns the VectorPart of the parameters that a worker keeps: its share of each bucket.

    It equals the share that the worker sums in an all-reduce of the bucket.
    """
    _, buckets = cut_buckets(conf.params_layout.slices, bucket_bytes(master, conf) / 4)
    parts = []
    for bucket in reversed(buckets):
        edges = cuts(bucket.stop - bucket.start, workers)
        parts.append(slice(bucket.start + edges[rank], bucket.start + edges[rank + 1]))
    return VectorPart(tuple(parts))


def divide_state(master, conf, state, workers):
    """Returns the result of `divided_state.divide_state` for the shares of `workers` workers."""
    return divided_state.divide_state(
        conf, state, lambda rank: params_part(master, conf, rank, workers)
    )


def join_state(master, conf, fields):
    """Returns the result of `divided_state.join_state` for the shares of all workers."""
    workers = len(fields["worker_states"])
    parts = [params_part(master, conf, rank, workers) for rank in range(workers)]
    return divided_state.join_state(conf, fields, parts)


def divide_tables(master, state, workers):
    """Returns (a TrainState without rows, function (rank) that gives a worker its rows).

    Workers read rows stored in files themselves. The state says where to read and write them.
    """
    from sparkdl.training.saving.table_folder import make_folder  # workers don't need this import

    tables, shards = state.tables, {}
    if not isinstance(tables, StoredTables):
        shards = dict(enumerate(split_tables(tables, workers)))
        tables = StoredTables()
    if master.table_folder is not None:
        tables = replace(tables, folder=make_folder(master.table_folder))
    return replace(state, tables=tables), lambda rank: prefix(TABLES, shards.pop(rank, {}))


def rows_of(setup, rank, share):
    """Returns [{"table/array": vector}], the rows a worker starts with; see TableGroup.load."""
    tables = setup.state.tables
    if tables:
        return tables.read_own(rank, setup.schedule.workers)
    return [worker_state_part(TABLES, share)]


def join_tables_of(fields, sent):
    """Returns the fields of a TrainState with all tables, joined from the workers' shards.

    Workers have either sent their shards or written them to the folder of `sent`, the tables that
    they received.
    """
    from sparkdl.training.saving.table_folder import sweep

    sweep()
    shards = [worker_state_part(TABLES, state) for state in fields["worker_states"]]
    rest = [
        {name: of for name, of in state.items() if not name.startswith(f"{TABLES}.")}
        for state in fields["worker_states"]
    ]
    states = tuple(rest) if any(rest) else ()
    folder = sent.folder
    if folder is None:
        tables = join_tables(shards)
    else:
        written = (read_files(folder, shard) for shard in shards)
        tables = StoredTables(tuple(written))
    return fields | {"tables": tables, "worker_states": states}
