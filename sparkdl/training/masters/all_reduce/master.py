"""Synchronous SGD: every update uses the mean gradient over the minibatches of all workers."""

from collections.abc import Sequence
from typing import Any

from sparkdl.config import Choice, Integer, Optional, dataclass, option
from sparkdl.training.masters.all_reduce.worker import AllReduceWorker
from sparkdl.training.masters.base import ResidentMaster

NORMALIZE = ("examples", "workers")


@dataclass(frozen=True, kw_only=True)
class AllReduceSGD(ResidentMaster):
    """Workers sum their gradients for each update, while the rest of the backward pass still runs.

    It is training on the joint minibatch of all workers, with any optimizer. A worker whose data
    ends before that of others gives zeros, and the mean is over those that gave something.

    References
    ----------
    Chen, Pan, Monga, Bengio and Jozefowicz, Revisiting distributed synchronous SGD (2016). Buckets:
    Li et al., PyTorch distributed (2020). Torch DistLearn AllReduceSGD.
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

    @property
    def minibatches_per_round(self) -> int:
        return self.updates_per_round * self.accumulate

    def minibatches_for(self, updates: int, workers: Any) -> int:
        return updates * self.accumulate

    def updates_of(self, minibatches: Sequence[int]) -> int:
        return -(-max(minibatches) // self.accumulate)

    def strategy(self, worker: Any) -> Any:
        return AllReduceWorker(self, worker)
