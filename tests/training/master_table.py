"""The table of TrainingMasters, whose contract is tested on all kinds of workers."""

from dataclasses import dataclass, field, replace

import numpy as np

from sparkdl.data.batches.batch import Batch
from sparkdl.data.batches.blocks import permutation
from sparkdl.exchange.codecs import FixedThreshold, Threshold, TopK
from sparkdl.nn import Momentum, Sgd
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.masters.block_momentum.master import BlockMomentum
from sparkdl.training.masters.elastic_averaging.master import ElasticAveraging
from sparkdl.training.masters.gradient_sharing.master import GradientSharing
from sparkdl.training.masters.local_sgd.master import LocalSGD
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.masters.parameter_server.master import ParameterServer
from sparkdl.training.masters.pipeline_parallel.master import PipelineParallel
from sparkdl.training.masters.tensor_parallel.master import TensorParallel
from sparkdl.training.network import first_state
from sparkdl.training.resident.schedule import BlockSchedule
from tests.support.tables import first_of_each

SMALL = {"batch_size_per_worker": 4, "timeout": 60.0, "stall_timeout": 200.0}

NO_BLOCK_MOMENTUM = {"block_momentum": 0.0, "block_momentum_as_time_constant": None}


@dataclass(frozen=True, kw_only=True)
class Row:
    """A master with small options, and its properties.

    Parameters
    ----------
    joint : dict or None
        Options with which an update equals one on the joint minibatch of all workers.
    optimizer : Optimizer
        Optimizer for that comparison.
    same_bits : bool
        Whether two fits give the same weights.
    keeps_back : bool
        Whether each worker has a residual of its own.
    same_updates : bool
        Whether two fits have the same number of updates.
    late : bool
        Whether a fit limited by updates may end a few later, because their time is not known.
    diverges : str or None
        Error when the loss is no longer finite; None if steps are too short for that.
    """

    master: TrainingMaster
    joint: dict | None = None
    optimizer: object = field(default_factory=lambda: Sgd(learning_rate=0.3))
    same_bits: bool = True
    keeps_back: bool = False
    same_updates: bool = True
    late: bool = False
    diverges: str | None = "in epoch 0, round .: training has diverged"


MASTERS = {
    "averaging by the driver": Row(
        master=ParameterAveraging(aggregation="driver", averaging_frequency=2, **SMALL),
        joint={"averaging_frequency": 1},
    ),
    "averaging by peers": Row(
        master=ParameterAveraging(averaging_frequency=2, aggregation="peers", **SMALL),
        joint={"averaging_frequency": 1},
    ),
    "averaging by peers, changes encoded": Row(
        master=ParameterAveraging(
            averaging_frequency=2,
            aggregation="peers",
            codec={"type": "TwoBit", "threshold": 0.01},
            **SMALL,
        ),
        joint={"averaging_frequency": 1, "codec": TopK(1.0)},
        keeps_back=True,
        diverges="(TwoBit needs numbers of at most|in epoch 0, round .: training has diverged)",
    ),
    "averaging by peers, slots anew": Row(
        master=ParameterAveraging(
            averaging_frequency=2, aggregation="peers", average_optimizer_state=False, **SMALL
        ),
    ),
    "all-reduce": Row(
        master=AllReduceSGD(updates_per_round=3, bucket_bytes=64, **SMALL),
        joint={},
        optimizer=Momentum(learning_rate=0.1),
    ),
    "all-reduce, accumulating": Row(
        master=AllReduceSGD(updates_per_round=2, accumulate=2, **SMALL), joint={}
    ),
    "all-reduce, mean of minibatches": Row(
        master=AllReduceSGD(updates_per_round=2, normalize="workers", **SMALL)
    ),
    "all-reduce, half precision": Row(
        master=AllReduceSGD(updates_per_round=2, codec={"type": "Half"}, **SMALL),
        diverges="Half needs numbers of at most",
    ),
    "all-reduce, shards of parameters": Row(
        master=AllReduceSGD(updates_per_round=3, bucket_bytes=64, shard="parameters", **SMALL),
        joint={},
        optimizer=Momentum(learning_rate=0.1),
    ),
    "pipeline": Row(
        master=PipelineParallel(updates_per_round=3, **SMALL),
        joint={},
        optimizer=Momentum(learning_rate=0.1),
    ),
    "tensor parallel": Row(
        master=TensorParallel(updates_per_round=3, **SMALL),
        joint={},
        optimizer=Momentum(learning_rate=0.1),
    ),
    "gradients of 1 bit": Row(
        master=GradientSharing(codec="OneBit", share="gradients", updates_per_round=2, **SMALL),
        joint={"codec": TopK(1.0)},
        optimizer=Momentum(learning_rate=0.1),
        keeps_back=True,
        diverges="(OneBit needs numbers of at most|in epoch 0, round .: training has diverged)",
    ),
    "updates past a threshold": Row(
        master=GradientSharing(
            codec=Threshold(FixedThreshold(0.01)), combine="sum", updates_per_round=3, **SMALL
        ),
        joint={"codec": TopK(1.0), "combine": "mean"},
        keeps_back=True,
        diverges=None,
    ),
    "servers, in step": Row(
        master=ParameterServer(updates_per_round=3, **SMALL),
        joint={},
        optimizer=Momentum(learning_rate=0.1),
    ),
    "servers, adding up gradients": Row(
        master=ParameterServer(updates_per_round=2, push_every=2, fetch_every=3, **SMALL)
    ),
    "servers, backup": Row(
        master=ParameterServer(updates_per_round=3, backup=1, **SMALL),
        same_bits=False,
        same_updates=False,
        late=True,
    ),
    "servers, bounded": Row(
        master=ParameterServer(updates_per_round=3, mode="bounded", staleness=2, **SMALL),
        same_bits=False,
        late=True,
    ),
    "servers, at once": Row(
        master=ParameterServer(updates_per_round=3, mode="async", servers=1, **SMALL),
        same_bits=False,
        late=True,
    ),
    "servers, without locks": Row(
        master=ParameterServer(updates_per_round=3, mode="hogwild", **SMALL),
        same_bits=False,
        late=True,
    ),
    "block momentum": Row(
        master=BlockMomentum(block_size_per_worker=10, block_learning_rate=0.5, **SMALL)
    ),
    "block momentum, slots averaged": Row(
        master=BlockMomentum(
            block_size_per_worker=8,
            block_momentum_as_time_constant=20.0,
            use_nesterov_momentum=False,
            reset_sgd_momentum_after_aggregation=False,
            **SMALL,
        ),
        joint={"block_size_per_worker": 4} | NO_BLOCK_MOMENTUM,
        optimizer=Momentum(learning_rate=0.1),
    ),
    "block momentum, changes of 1 bit": Row(
        master=BlockMomentum(block_size_per_worker=8, codec="OneBit", **SMALL),
        keeps_back=True,
        diverges="(OneBit needs numbers of at most|in epoch 0, round .: training has diverged)",
    ),
    "local SGD, half precision": Row(
        master=LocalSGD(period=2, updates_per_round=3, codec="Half", **SMALL),
        joint={"period": 1, "codec": TopK(1.0)},
        diverges="Half needs numbers of at most",
    ),
    "local SGD": Row(master=LocalSGD(period=2, updates_per_round=3, **SMALL), joint={"period": 1}),
    "local SGD after a warm start": Row(
        master=LocalSGD(
            period=2, updates_per_round=4, parallel_from=1, average_optimizer_state=False, **SMALL
        ),
        joint={"parallel_from": 9},
        optimizer=Momentum(learning_rate=0.1),
    ),
    "local SGD, adaptive": Row(
        master=LocalSGD(period=4, updates_per_round=4, adaptive=True, **SMALL)
    ),
    "elastic": Row(master=ElasticAveraging(tau=2, exchanges_per_round=2, **SMALL), keeps_back=True),
    "elastic, half precision": Row(
        master=ElasticAveraging(tau=2, exchanges_per_round=2, codec="Half", **SMALL),
        keeps_back=True,
        diverges="Half needs numbers of at most",
    ),
    "elastic around a store": Row(
        master=ElasticAveraging(tau=2, exchanges_per_round=2, mode="async", **SMALL),
        same_bits=False,
    ),
}
RESIDENT = [name for name, row in MASTERS.items() if row.master.resident]
# In the others each worker has parts of the network; they refuse GPUs, float16, foreign modules.
PARTS = "all-reduce, shards of parameters", "pipeline", "tensor parallel"
WHOLE = [name for name in MASTERS if name not in PARTS]
JOINT = [name for name, row in MASTERS.items() if row.joint is not None]


def by_kind(names):
    """Returns the names as test parameters; all but the first of each kind of master are slow."""
    return first_of_each(names, lambda name: type(MASTERS[name].master))


def schedule_of(blocks, workers, conf):
    """Returns the Schedule of a resident master's fit, and its initial state."""
    state = replace(first_state(conf), seed=conf.seed)
    return BlockSchedule(sizes=tuple(blocks.sizes), workers=workers.size, seed=state.seed), state


def plan_of(master, blocks, workers, conf, epoch):
    """Returns [blocks of a round] for an epoch, for any kind of master."""
    schedule, state = schedule_of(blocks, workers, conf)
    if not master.resident:
        return master.plan(workers, blocks, replace(state, epoch=epoch))
    return [[n for n in chosen if n is not None] for chosen in schedule.rounds(epoch)]


def joint_batches(master, blocks, workers, conf, epoch):
    """Yields the joint Batch of all workers for each update of an epoch."""
    step = master.batch_size_per_worker * getattr(master, "accumulate", 1)
    for chosen in plan_of(master, blocks, workers, conf, epoch):
        held = [blocks.blocks[n] for n in chosen]
        orders = [permutation(conf.seed, epoch, n, n=len(blocks.blocks[n])) for n in chosen]
        for start in range(0, max(map(len, held)), step):
            parts = [b.take(order[start : start + step]) for b, order in zip(held, orders)]
            yield Batch.concat([part for part in parts if len(part)])


def assert_close(found, expected, relative=1e-5):
    """Asserts an error within `relative` of the largest number."""
    assert np.abs(found - expected).max() / np.abs(expected).max() < relative
