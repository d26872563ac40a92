"""Synchronous SGD: every update uses the mean gradient over the minibatches of all workers."""

from dataclasses import dataclass
from itertools import islice

from sparkdl.config import Choice, Integer, Optional, option
from sparkdl.exchange.devices.group import DeviceGroup
from sparkdl.training.masters.all_reduce.buckets import Buckets
from sparkdl.training.masters.all_reduce.device_buckets import DeviceBuckets
from sparkdl.training.masters.base import ResidentMaster
from sparkdl.training.resident.buffer_mean import mean_buffers
from sparkdl.training.resident.strategy import Strategy
from sparkdl.training.resident.synchronization import synchronize

NORMALIZE = ("examples", "workers")
# Bytes of a bucket, least and most: fewer calls, or more that nothing hides.
OVER_SOCKETS, ON_DEVICES = (256 << 10, 4 << 20), (4 << 20, 32 << 20)


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
    def minibatches_per_round(self):
        return self.updates_per_round * self.accumulate

    def minibatches_for(self, updates, workers):
        return updates * self.accumulate

    def updates_of(self, minibatches):
        return -(-max(minibatches) // self.accumulate)

    def strategy(self, worker):
        return AllReduceWorker(self, worker)


class AllReduceWorker(Strategy):
    """Strategy of AllReduceSGD in a worker."""

    lockstep = True

    def __init__(self, master, worker):
        super().__init__(master, worker)
        self._buckets = buckets_for(master, worker)

    def round(self, steps):
        trained = 0
        while some := list(islice(steps, self.master.accumulate)):
            trained += self._update([step for step in some if step is not None])
        self._buckets.settle()
        mean_buffers(self.worker, trained)

    def end_epoch(self):
        every = self.master.sync_epochs
        if every is not None and (self.worker.epoch + 1) % every == 0:
            synchronize(self.worker)

    def own(self):
        return self._buckets.own()

    def flush(self):
        """Returns `Buckets.flush`, for a run that continues in another way."""
        return self._buckets.flush()

    def _update(self, steps):
        """Updates all workers once; `steps` are this one's own, perhaps none."""
        weights = [self._weight(step) for step in steps]
        self._buckets.begin(sum(weights))
        for step, weight in zip(steps[:-1], weights[:-1], strict=True):
            self.worker.gradient(step)
            self._buckets.keep(weight)
        if steps:
            self._buckets.last(steps[-1], weights[-1])
        else:
            self._buckets.add_zeros()
        self._buckets.end()
        self.worker.apply()
        return sum(len(step.batch) for step in steps)

    def _weight(self, step):
        return len(step.batch) if self.master.normalize == "examples" else 1


def buckets_for(master, worker):
    """Returns the buckets that sum the gradient in the way that the workers exchange."""
    if isinstance(worker.group, DeviceGroup) and master.codec is None:
        return DeviceBuckets(
            worker, master.bucket_bytes or clamp_bucket_bytes(worker, 6, *ON_DEVICES)
        )
    return Buckets(worker, bucket_bytes(master, worker), master.codec)


def bucket_bytes(master, worker):
    """Returns the size of a bucket over sockets: the option's, or one that suits the network."""
    return master.bucket_bytes or clamp_bucket_bytes(worker, 16, *OVER_SOCKETS)


def clamp_bucket_bytes(worker, parts, least, most):
    return min(max(worker.replica.grad.nbytes // parts, least), most)
