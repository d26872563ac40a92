"""Synchronous SGD: every update uses the mean gradient over the minibatches of all workers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sparkdl.config import Choice, Integer, Optional, Text, dataclass, option
from sparkdl.errors import ConfigError, require
from sparkdl.nn.optimization.network_part import check_parts
from sparkdl.nn.tables.table_shard import TableShard
from sparkdl.training.masters.all_reduce import sharding
from sparkdl.training.masters.all_reduce.sharded_worker import ShardedWorker, sharded_replica
from sparkdl.training.masters.all_reduce.worker import AllReduceWorker
from sparkdl.training.masters.base import ResidentMaster

TABLES = ("whole", "sharded")
NORMALIZE = ("examples", "workers")


@dataclass(frozen=True, kw_only=True)
class AllReduceSGD(ResidentMaster):
    """Synchronous SGD: workers all-reduce their gradients while the backward pass still runs.

    It is equivalent to training on the joint minibatch of all workers, with any optimizer; only
    batch statistics, as of BatchNorm, and weight noise are those of each worker's own minibatch. A
    worker whose data ends early contributes zeros, and the mean is taken over the others.

    With `shard` each worker keeps and updates only a part of the state (ZeRO): it receives the
    summed gradients of that part, and gathers the other parameters from the workers that updated
    them.

    References
    ----------
    Chen, Pan, Monga, Bengio and Jozefowicz, Revisiting distributed synchronous SGD (2016). Buckets:
    Li et al., PyTorch distributed (2020). Shards: Rajbhandari et al., ZeRO: memory optimizations
    toward training trillion parameter models (2020). Torch DistLearn AllReduceSGD.
    """

    updates_per_round: int = option(
        Integer(minimum=1),
        "Updates per round. Each round ends with a report, and with an average of buffers "
        "(running means).",
        default=10,
    )
    accumulate: int = option(
        Integer(minimum=1),
        "Gradient accumulation: minibatches of each worker per update; with tbptt, their chunks.",
        default=1,
    )
    bucket_bytes: int | None = option(
        Integer(minimum=1),
        "Approximate size of a bucket of gradients, which is sent as soon as it is final. None: "
        "a 16th of all gradients, from 256 KB to 4 MB; between GPUs a 6th, from 4 to 32 MB. With "
        "a codec all gradients are sent together after the backward pass.",
        default=None,
        unit="bytes",
    )
    normalize: str = option(
        Choice(of=NORMALIZE),
        '"examples": the gradient is the mean over all examples of an update; "workers": over '
        "the minibatches, however many examples a short one has (DistLearn's "
        "sumAndNormalizeGradients).",
        default="examples",
    )
    sync_epochs: int | None = option(
        Optional(of=Integer(minimum=1)),
        "Epochs between two synchronizations, in which all workers copy the vectors of the "
        "worker with the most updates (DistLearn's synchronizeParameters), as different hosts "
        "may round differently. None: never.",
        default=1,
    )

    shard: str | None = option(
        Optional(of=Choice(of=sharding.SHARDS)),
        "State that is sharded over the n workers. With P parameters and an optimizer of k "
        "slots, a worker needs, in float32 numbers, (2 + k) P with None; 2 P + k P / n with "
        '"optimizer"; P + 2 b + (2 + k) P / n with "gradients", where b is the largest bucket; '
        '(2 + k) P / n + 4 b with "parameters"; plus activations. The weights are bit-identical. '
        "Not available with a codec, on GPUs, or with norms (Lars, Lamb, clipping and "
        "constraints by norm).",
        default=None,
    )

    tables: str = option(
        Choice(of=TABLES),
        'Placement of the table rows of GraphConf.bags. "whole": each worker has all rows, and '
        'gradients of the rows that minibatches touch go to all workers. "sharded": each of n '
        "workers has one n-th of the rows, by a hash of the ids; a worker pulls the rows of its "
        "minibatches before an update and sends their gradients to the owners. The weights are "
        "bit-identical.",
        default="whole",
    )

    table_folder: str | None = option(
        Optional(of=Text(what="a folder")),
        "Folder that the driver and all workers can reach, on HDFS for instance. Workers write "
        "the rows of sharded tables there at snapshots: all rows first, then only those that "
        "changed. The driver then holds no rows, and checkpoints and saved networks get copies "
        "of the files. Files are deleted once the driver no longer needs them. None: workers "
        "send their rows to the driver.",
        default=None,
    )

    def validate(self) -> None:
        super().validate()
        needed = self.table_folder is None or self.tables == "sharded"
        cure = "whole tables are in the driver; give tables='sharded'"
        require(self, "table_folder", needed, f"None with tables={self.tables!r}", cure)
        if self.shard is None:
            return
        cure = f"as shard is {self.shard!r}"
        require(self, "codec", self.codec is None, "None", cure)
        require(self, "exchange", self.exchange != "nccl", "'auto' or 'sockets'", cure)
        keeps = self.shard == "optimizer" or self.accumulate == 1
        require(self, "accumulate", keeps, "1", f"{cure}; give shard='optimizer'")

    def check_network(self, conf: Any) -> None:
        if conf.bags:
            cure = "with GraphConf.bags: tables lie in the memory of processors"
            require(self, "shard", self.shard is None, "None", f"{cure}; see tables='sharded'")
            require(self, "device", self.device != "cuda", "'auto' or 'cpu'", cure)
        if self.shard is None:
            return
        if conf.replica_class is not None:
            raise ConfigError(
                f"AllReduceSGD.shard must be None with a {type(conf).__name__}, whose module needs "
                f"all parameters at once, got {self.shard!r}; leave it out"
            )
        check_parts(conf, "AllReduceSGD.shard")

    def shards_tables(self, conf: Any) -> bool:
        """Returns whether a network has tables, of which each worker has a part."""
        return self.tables == "sharded" and bool(conf.bags)

    @property
    def minibatches_per_round(self) -> int:
        return self.updates_per_round * self.accumulate

    def minibatches_for(self, updates: int, workers: Any) -> int:
        return updates * self.accumulate

    def updates_of(self, minibatches: Sequence[int]) -> int:
        return -(-max(minibatches) // self.accumulate)

    def strategy(self, worker: Any) -> Any:
        return (ShardedWorker if self.shard else AllReduceWorker)(self, worker)

    def replica(self, setup: Any, group: Any, share: Any) -> Any:
        if self.shards_tables(setup.conf):
            rest = replace(setup, state=replace(setup.state, tables={}))
            replica = super().replica(rest, group, share)
            replica.load_tables(sharding.rows_of(setup, group.rank, share), TableShard)
            return replica
        if self.shard is None:
            return super().replica(setup, group, share)
        return sharded_replica(self, setup, group, share)

    def divide_state(self, conf: Any, state: Any, workers: int) -> Any:
        if self.shards_tables(conf):
            return sharding.divide_tables(self, state, workers)
        if self.shard is None:
            return super().divide_state(conf, state, workers)
        return sharding.divide_state(self, conf, state, workers)

    def join_state(self, conf: Any, fields: Any, sent: Any) -> Any:
        if self.shards_tables(conf):
            return sharding.join_tables_of(fields, sent)
        return fields if self.shard is None else sharding.join_state(self, conf, fields)
