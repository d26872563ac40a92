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
    """Workers sum their gradients for each update, while the rest of the backward pass still runs.

    It is training on the joint minibatch of all workers, with any optimizer. A worker whose data
    ends before that of others gives zeros, and the mean is over those that gave something.

    With `shard` a worker keeps, and updates, a part of the state (ZeRO): it gets the sum of the
    gradients of its part alone, and gathers parameters from those who have updated them.

    References
    ----------
    Chen, Pan, Monga, Bengio and Jozefowicz, Revisiting distributed synchronous SGD (2016). Buckets:
    Li et al., PyTorch distributed (2020). Shards: Rajbhandari et al., ZeRO: memory optimizations
    toward training trillion parameter models (2020). Torch DistLearn AllReduceSGD.
    """

    updates_per_round: int = option(
        Integer(minimum=1),
        "Updates of a round. After a round there is a report, and buffers (running means) are "
        "averaged.",
        default=10,
    )
    accumulate: int = option(
        Integer(minimum=1),
        "Minibatches of each worker whose gradients are added up for an update.",
        default=1,
    )
    bucket_bytes: int | None = option(
        Integer(minimum=1),
        "Gradients travel in pieces of about this size, each as soon as it is final. None: a "
        "16th of all, but from 256 KB to 4 MB; between GPUs a 6th, from 4 to 32 MB. With a "
        "codec they travel together after the backward pass.",
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
        "Epochs after which all take over the vectors of the worker with the most updates "
        "(DistLearn's synchronizeParameters): hosts of several kinds may round differently. "
        "None: never.",
        default=1,
    )

    shard: str | None = option(
        Optional(of=Choice(of=sharding.SHARDS)),
        "What each of n workers keeps only its part of. For P parameters and an optimizer of k "
        "slots a worker needs, in float32 numbers, (2 + k) P with None; "
        '2 P + k P / n with "optimizer"; P + 2 b + (2 + k) P / n with "gradients", where b '
        'is the largest bucket; (2 + k) P / n + 4 b with "parameters"; and activations. The '
        "weights are the same bits. Not with a codec, GPUs, or what needs norms (Lars, Lamb, "
        "clipping and constraints by norm).",
        default=None,
    )

    tables: str = option(
        Choice(of=TABLES),
        'Rows of GraphConf.bags: "whole": each worker has all, and the gradients of those that '
        'minibatches touch go to all; "sharded": each of n workers has one n-th, by a hash of the '
        "ids; a worker pulls the rows of its minibatches before an update, and their gradients go "
        "to the owners. The weights are the same bits.",
        default="whole",
    )

    table_folder: str | None = option(
        Optional(of=Text(what="a folder")),
        "Folder that the driver and all workers reach, on HDFS for instance, to which workers "
        "write the rows of sharded tables at snapshots: all at first, then what has changed. The "
        "driver has no rows then, and checkpoints and saved networks get copies of the files. "
        "What is there goes when the driver needs it no more. None: workers send their rows to "
        "the driver.",
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
