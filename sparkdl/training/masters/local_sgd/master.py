"""Local SGD: a synchronous warm-up, then averages of independent workers at adaptive intervals."""

from typing import Any

from sparkdl.config import Boolean, Integer, Number, dataclass, option
from sparkdl.errors import require
from sparkdl.training.masters.base import ResidentMaster
from sparkdl.training.masters.local_sgd.worker import LocalSGDWorker
from sparkdl.training.masters.parameter_averaging.master import KEEP_SLOTS


@dataclass(frozen=True, kw_only=True)
class LocalSGD(ResidentMaster):
    """Local SGD: a synchronous warm-up, then workers train alone and are averaged periodically.

    Before epoch `parallel_from` all workers make each update together, with the mean gradient of
    their joint minibatch, as AllReduceSGD does. (With CNTK's parallelizationStartEpoch only one
    worker trains until then.) From then on each worker trains alone, and every `period` minibatches
    all continue from their mean, weighted by examples. A codec's residual from the warm-up is added
    to each worker's first local gradient.

    With `adaptive` the period is recomputed after each epoch of local training: period * sqrt(L /
    L1), rounded up, where L is the mean loss of the epoch and L1 that of the first. If that is not
    smaller than before, the period shrinks by the factor `plateau`, down to 1. Snapshots and
    checkpoints include the period.

    References
    ----------
    Lin, Stich, Patel and Jaggi, Don't use large mini-batches, use local SGD (2020): post-local SGD.
    Wang and Joshi, Adaptive communication strategies to achieve the best error-runtime trade-off in
    local-update SGD (2019): AdaComm, which looks at the loss after fixed times, not epochs.
    """

    period: int = option(
        Integer(minimum=1),
        "Distance between two averages of the workers, initially; with tbptt, in chunks.",
        default=8,
        unit="minibatches",
    )
    updates_per_round: int = option(
        Integer(minimum=1),
        "Minibatches of each worker per round, at least `period`. Each round ends with an "
        "average and a report.",
        default=32,
    )
    parallel_from: int = option(
        Integer(minimum=0),
        "First epoch of local training, counted from 0 over all fits of a network. 0: no warm-up.",
        default=0,
    )
    adaptive: bool = option(
        Boolean(),
        "Whether to recompute the period after each epoch of local training.",
        default=False,
    )
    plateau: float = option(
        Number(above=0, below=1), "Factor of the period when the loss has not fallen.", default=0.5
    )
    average_optimizer_state: bool = option(
        Boolean(),
        "Whether to average optimizer state (momentum ...) too; otherwise it is reset at each "
        "average.",
        default=True,
    )

    def validate(self) -> None:
        super().validate()
        holds = self.updates_per_round >= self.period
        require(self, "updates_per_round", holds, f"an integer >= {self.period}")

    @property
    def ema_cure(self) -> str:
        return "" if self.average_optimizer_state else KEEP_SLOTS

    @property
    def minibatches_per_round(self) -> int:
        return self.updates_per_round

    def strategy(self, worker: Any) -> Any:
        return LocalSGDWorker(self, worker)
