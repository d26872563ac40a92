"""Elastic averaging: workers train on their own, tied to a center by springs."""

from typing import Any

from sparkdl.config import Choice, Integer, Number, dataclass, option
from sparkdl.training.masters.base import ResidentMaster
from sparkdl.training.masters.elastic_averaging.worker import (
    StoreElasticWorker,
    SynchronousElasticWorker,
)

MODES = ("sync", "async")


@dataclass(frozen=True, kw_only=True)
class ElasticAveraging(ResidentMaster):
    """Each worker has weights of its own; it and a center draw each other nearer now and then.

    After `tau` minibatches a worker at x moves by d = alpha * (center - x), and the center moves by
    the sum of what workers moved, the other way. A worker that trained nothing since then stays
    where it is. The fit's weights are the center, its optimizer state is the mean of the workers'.

    The workers' own weights and optimizer states are part of snapshots and checkpoints. Where the
    number of workers changes worker r goes on with those of worker r, modulo the old number.

    References
    ----------
    Zhang, Choromanska and LeCun, Deep learning with elastic averaging SGD (2015): EASGD, and EAMSGD
    where the network's optimizer is Nesterov. Torch DistLearn AllReduceEA.
    """

    tau: int = option(
        Integer(minimum=1),
        "Minibatches of each worker between two exchanges. There is one at the end of a "
        "round, too.",
        default=10,
    )
    alpha: float | None = option(
        Number(above=0, below=1),
        "The part of its distance to the center that a worker moves. None: 0.9 divided by the "
        "number of workers, as in the paper. Above 1 divided by that number a synchronous "
        "center moves past the mean of the workers; above 2 it gets ever further away.",
        default=None,
    )
    mode: str = option(
        Choice(of=MODES),
        '"sync": all exchange at the same time, by all-reduce (DistLearn\'s AllReduceEA). '
        '"async": each exchanges on its own with the center in a key-value store; nobody '
        "waits but at the end of a round.",
        default="sync",
    )
    exchanges_per_round: int = option(
        Integer(minimum=1),
        "Exchanges of a round. At its end there is a report, and buffers (running means) are "
        "averaged.",
        default=5,
    )

    @property
    def minibatches_per_round(self) -> int:
        return self.tau * self.exchanges_per_round

    def strategy(self, worker: Any) -> Any:
        return (SynchronousElasticWorker if self.mode == "sync" else StoreElasticWorker)(
            self, worker
        )
