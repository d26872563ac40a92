"""Elastic averaging: workers train independently, tied to a center by springs."""

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
    """Elastic averaging: each worker has its own weights, which are regularly pulled to a center.

    After `tau` minibatches a worker at x moves by d = alpha * (center - x), and the center moves by
    the sum of these moves in the opposite direction. A worker that has not trained since the last
    exchange does not move. The fit's weights are the center; its optimizer state is the mean of the
    workers'.

    Snapshots and checkpoints include the workers' own weights and optimizer states. If the number
    of workers changes, worker r continues with those of worker r modulo the old number.

    References
    ----------
    Zhang, Choromanska and LeCun, Deep learning with elastic averaging SGD (2015): EASGD, and EAMSGD
    where the network's optimizer is Nesterov. Torch DistLearn AllReduceEA.
    """

    tau: int = option(
        Integer(minimum=1),
        "Minibatches of each worker between two exchanges, with tbptt their chunks; a round ends "
        "with one too.",
        default=10,
    )
    alpha: float | None = option(
        Number(above=0, below=1),
        "Fraction of its distance to the center that a worker moves. None: 0.9 / n for n "
        "workers, as in the paper. Above 1 / n a synchronous center overshoots the mean of the "
        "workers; above 2 / n it diverges.",
        default=None,
    )
    mode: str = option(
        Choice(of=MODES),
        '"sync": all workers exchange at once, by all-reduce (DistLearn\'s AllReduceEA). "async": '
        "each worker exchanges with the center in a key-value store on its own; workers wait for "
        "each other only at the end of a round.",
        default="sync",
    )
    exchanges_per_round: int = option(
        Integer(minimum=1),
        "Exchanges per round. Each round ends with a report, and with an average of buffers "
        "(running means).",
        default=5,
    )

    @property
    def ema_cure(self) -> str:
        return "take AllReduceSGD: no optimizer sees the center, which is the fit's weights"

    @property
    def minibatches_per_round(self) -> int:
        return self.tau * self.exchanges_per_round

    def strategy(self, worker: Any) -> Any:
        return (SynchronousElasticWorker if self.mode == "sync" else StoreElasticWorker)(
            self, worker
        )
