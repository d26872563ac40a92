"""Gradient sharing: workers exchange heavily compressed gradients after each minibatch."""

from typing import Any

from sparkdl.config import Choice, Integer, Of, dataclass, option
from sparkdl.config.field_types import AnyOf
from sparkdl.exchange.codecs import Codec, Threshold
from sparkdl.training.masters.base import ResidentMaster
from sparkdl.training.masters.gradient_sharing.worker import (
    GradientSharingWorker,
    UpdateSharingWorker,
)

SHARED = ("updates", "gradients")
COMBINED = ("mean", "sum")


@dataclass(frozen=True, kw_only=True)
class GradientSharing(ResidentMaster):
    """Workers share compressed gradients after each minibatch, and all take the same step.

    What a codec leaves out stays with its worker as a residual and is sent with later minibatches.
    All workers have the same weights at all times. Snapshots and checkpoints include the residuals.

    References
    ----------
    Strom, Scalable distributed DNN training using commodity GPU cloud computing (2015). Seide, Fu,
    Droppo, Li and Yu, 1-bit stochastic gradient descent (2014). DL4J SharedTrainingMaster; CNTK
    data-parallel SGD with gradientBits = 1.
    """

    codec: AnyOf[Codec] = option(
        Of(family=Codec),
        "Codec of gradients. Threshold() is DL4J's, OneBit() is CNTK's 1-bit SGD, which wants "
        "large minibatches.",
        default=Threshold(),
    )
    share: str = option(
        Choice(of=SHARED),
        '"updates": each worker\'s optimizer computes its own step, and all workers apply the '
        "combined steps (DL4J). The learning rate is then part of what is sent, so a threshold "
        "applies to steps; optimizer state differs between workers, each keeps its own, and the "
        'network gets their mean. "gradients": one optimizer, the same on all workers, receives '
        "the combined gradients (CNTK).",
        default="updates",
    )
    combine: str = option(
        Choice(of=COMBINED),
        '"mean" over all workers\' examples, or "sum" of their steps (DL4J), which grows with the '
        "number of workers.",
        default="mean",
    )
    updates_per_round: int = option(
        Integer(minimum=1),
        "Minibatches of each worker between two reports, at which buffers (running means) are "
        "averaged too.",
        default=10,
    )

    @property
    def minibatches_per_round(self) -> int:
        return self.updates_per_round

    @property
    def ema_cure(self) -> str:
        if self.share == "gradients":
            return ""
        return "give share='gradients': of 'updates' an optimizer sees only its worker's own"

    @property
    def averages_messages(self) -> bool:
        return self.combine == "mean"

    def strategy(self, worker: Any) -> Any:
        return (GradientSharingWorker if self.share == "gradients" else UpdateSharingWorker)(
            self, worker
        )
