"""Local SGD: first in step, then alone for some minibatches between averages, fewer and fewer."""

from typing import Any

from sparkdl.config import Boolean, Integer, Number, dataclass, option
from sparkdl.errors import require
from sparkdl.training.masters.base import ResidentMaster
from sparkdl.training.masters.local_sgd.worker import LocalSGDWorker


@dataclass(frozen=True, kw_only=True)
class LocalSGD(ResidentMaster):
    """A warm start in step, then averages of workers that train alone, more often as losses fall.

    Up to epoch `parallel_from` all workers make each update together, with the mean gradient of
    their joint minibatch, as AllReduceSGD does. (With CNTK's parallelizationStartEpoch one worker
    alone trains until then, while others wait.) From there on they train alone, and continue from
    their mean after `period` minibatches, weighted by examples. What a codec keeps back of the
    gradients in step is part of each worker's first gradient alone.

    With `adaptive` the period is set anew after each epoch of that. With L the mean loss of the
    epoch and L1 that of the first it is period * sqrt(L / L1), rounded up; where that is no less
    than it was, it shrinks by the factor `plateau`, down to 1. The period is part of snapshots and
    checkpoints.

    References
    ----------
    Lin, Stich, Patel and Jaggi, Don't use large mini-batches, use local SGD (2020): post-local SGD.
    Wang and Joshi, Adaptive communication strategies to achieve the best error-runtime trade-off in
    local-update SGD (2019): AdaComm, which looks at the loss after fixed times, not epochs.
    """

    period: int = option(
        Integer(minimum=1),
        "Distance of two averages for each worker, at first.",
        default=8,
        unit="minibatches",
    )
    updates_per_round: int = option(
        Integer(minimum=1),
        "Minibatches of each worker in a round, at least `period`. At the end of a round "
        "there is an average, and a report.",
        default=32,
    )
    parallel_from: int = option(
        Integer(minimum=0),
        "The first epoch of training alone, counted from 0 over all fits of a network. 0: no "
        "warm start.",
        default=0,
    )
    adaptive: bool = option(
        Boolean(),
        "Whether the period is set anew after each epoch of training alone.",
        default=False,
    )
    plateau: float = option(
        Number(above=0, below=1), "Factor of the period where the loss has not fallen.", default=0.5
    )
    average_optimizer_state: bool = option(
        Boolean(),
        "Average momentum and the like too; else they start anew after each average.",
        default=True,
    )

    def validate(self) -> None:
        super().validate()
        holds = self.updates_per_round >= self.period
        require(self, "updates_per_round", holds, f"an integer >= {self.period}")

    @property
    def minibatches_per_round(self) -> int:
        return self.updates_per_round

    def strategy(self, worker: Any) -> Any:
        return LocalSGDWorker(self, worker)
