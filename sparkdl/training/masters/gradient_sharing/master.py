"""Gradient sharing: after each minibatch workers exchange gradients in a few bits."""

from dataclasses import dataclass

import numpy as np

from sparkdl.config import Choice, Integer, Of, option
from sparkdl.config.field_types import AnyOf
from sparkdl.exchange.codecs import Codec, Threshold
from sparkdl.exchange.compressed_sum import CompressedSum
from sparkdl.training.masters.base import ResidentMaster
from sparkdl.training.resident.buffer_mean import mean_buffers
from sparkdl.training.resident.per_worker_state import copy_worker_state, prefix, worker_state_part
from sparkdl.training.resident.strategy import Strategy

SHARED = ("updates", "gradients")
COMBINED = ("mean", "sum")
SUMS = "sums"


@dataclass(frozen=True, kw_only=True)
class GradientSharing(ResidentMaster):
    """After each minibatch all workers take a step that they put together from a few bits of each.

    What a codec leaves out stays with its worker and is sent with later minibatches: it arrives,
    but late. All workers have the same weights at all times. What each keeps back is part of
    snapshots and checkpoints.

    References
    ----------
    Strom, Scalable distributed DNN training using commodity GPU cloud computing (2015). Seide, Fu,
    Droppo, Li and Yu, 1-bit stochastic gradient descent (2014). DL4J SharedTrainingMaster; CNTK
    data-parallel SGD with gradientBits = 1.
    """

    codec: AnyOf[Codec] = option(
        Of(family=Codec),
        "What gradients are written with. Threshold() is DL4J's, OneBit() is CNTK's 1-bit "
        "SGD, which wants large minibatches.",
        default=Threshold(),
    )
    share: str = option(
        Choice(of=SHARED),
        '"updates": each worker\'s optimizer makes a step of its own, and the combination of '
        "these is the step of all (DL4J). The learning rate is in what is sent, so a "
        "threshold is one for steps. Optimizer state then differs between workers: each goes on "
        'with its own, and the network has their mean. "gradients": their combination goes through '
        "one optimizer, the same in all workers (CNTK).",
        default="updates",
    )
    combine: str = option(
        Choice(of=COMBINED),
        '"mean" over all workers\' examples, or "sum" of their steps (DL4J): with it the steps '
        "are longer the more workers there are.",
        default="mean",
    )
    updates_per_round: int = option(
        Integer(minimum=1),
        "Minibatches of each worker between two reports, at which buffers (running means) are "
        "averaged too.",
        default=10,
    )

    @property
    def minibatches_per_round(self):
        return self.updates_per_round

    @property
    def averages_messages(self):
        return self.combine == "mean"

    def strategy(self, worker):
        return (GradientSharingWorker if self.share == "gradients" else UpdateSharingWorker)(
            self, worker
        )


class SharingWorker(Strategy):
    """Base of both kinds of sharing: after each step all workers have the same weights."""

    lockstep = True

    def __init__(self, master, worker):
        super().__init__(master, worker)
        n = len(worker.replica.params)
        self._sums = CompressedSum(worker.group, master.codec, n)
        if worker.own:
            self._sums.restore(worker_state_part(SUMS, worker.own))

    def round(self, steps):
        trained = 0
        for step in steps:
            self.exchange(step)
            trained += 0 if step is None else step.share * len(step.batch)
        mean_buffers(self.worker, trained)

    def end_epoch(self):
        with self.worker.exchanging():
            self._sums.settle()

    def own(self):
        return prefix(SUMS, self._sums.state())

    def exchange(self, step):
        """Updates all workers once; `step` is this worker's own, or None."""
        raise NotImplementedError

    def combined(self, x, step):
        """Replaces x, the vector that a step gave, by the combination of all workers' vectors."""
        mean = self.master.combine == "mean"
        share = 0.0 if step is None else len(step.batch) / self.master.batch_size_per_worker
        with self.worker.exchanging():
            total = np.array([share])
            counted = self.worker.group.start_all_reduce(total) if mean else None
            if step is not None and mean:
                x *= np.float32(share)
            self._sums.sum(x)
            if mean:
                counted.wait()
                x *= np.float32(1 / total[0])


class GradientSharingWorker(SharingWorker):
    """Shares gradients; all workers make the same update with the combination."""

    def exchange(self, step):
        if step is not None:
            self.worker.gradient(step)
        else:
            self.worker.replica.grad[:] = 0
        if self.worker.all_finite():
            self.combined(self.worker.replica.grad, step)
        self.worker.apply()


class UpdateSharingWorker(SharingWorker):
    """Shares updates; the weights take the combined step."""

    def __init__(self, master, worker):
        super().__init__(master, worker)
        self._before = np.empty_like(worker.replica.params)
        if worker.own:
            copy_worker_state(worker.own, "slots", worker.replica.slots)

    def exchange(self, step):
        np.copyto(self._before, self.worker.replica.params)
        if step is None:
            self.worker.iteration += 1  # as the others' updates
        else:
            self.worker.update(step)
        params = self.worker.replica.params
        params -= self._before
        self.combined(params, step)
        params += self._before

    def state(self):
        """Returns the state; optimizer state is the mean over workers."""
        state = super().state()
        with self.worker.exchanging():
            slots = state["slots"] / np.float32(self.worker.size)
            state["slots"] = self.worker.group.all_reduce(slots) if len(slots) else slots
        return state

    def own(self):
        return super().own() | {"slots": self.worker.replica.slots}
