"""Local SGD: first in step, then alone for some minibatches between averages, fewer and fewer."""

import math
from dataclasses import dataclass

import numpy as np

from sparkdl.config import Boolean, Integer, Number, option
from sparkdl.errors import require
from sparkdl.training.masters.all_reduce.master import AllReduceSGD, AllReduceWorker
from sparkdl.training.masters.base import ResidentMaster
from sparkdl.training.masters.parameter_averaging.worker import ParameterAveragingWorker


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
        Integer(minimum=1), "Minibatches of each worker between two averages, at first.", default=8
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

    def validate(self):
        super().validate()
        holds = self.updates_per_round >= self.period
        require(self, "updates_per_round", holds, f"an integer >= {self.period}")

    @property
    def minibatches_per_round(self):
        return self.updates_per_round

    def strategy(self, worker):
        return LocalSGDWorker(self, worker)


class LocalSGDWorker(ParameterAveragingWorker):
    """Strategy of LocalSGD in a worker."""

    lockstep = True

    def __init__(self, master, worker):
        super().__init__(master, worker)
        self._warm_up = AllReduceWorker(AllReduceSGD(sync_epochs=None, codec=master.codec), worker)
        self._kept_back, self._in_step = None, master.parallel_from > 0
        self._period = Period(master)
        if "local_sgd" in worker.kept:
            self._period.restore(worker.kept["local_sgd"])

    def round(self, steps):
        if self.worker.epoch < self.master.parallel_from:
            self._warm_up.round(steps)
            return
        if self._in_step:
            self._kept_back, self._in_step = self._warm_up.flush(), False
        number, examples = 0, 0.0
        for step in steps:
            if number == 0:
                self._begin()
            number += 1
            examples += self._train(step, number)
            if number == self._period.now:
                self._meet(examples)
                number, examples = 0, 0.0
        if number:
            self._meet(examples)
        if self.master.adaptive:
            self._tell_losses()

    def end_epoch(self):
        super().end_epoch()
        if self.master.adaptive and self.worker.epoch >= self.master.parallel_from:
            self._period.adapt()

    def state(self):
        kept = {"local_sgd": self._period.vector()} if self.master.adaptive else {}
        return super().state() | {"kept": kept}

    def own(self):
        return super().own() | self._warm_up.own()

    def _train(self, step, number):
        """Updates the worker alone, if there is a step; returns its part of examples."""
        if step is None:
            self.worker.iteration += 1  # as the others' updates
            return 0.0
        age = None if self.master.average_optimizer_state else number
        if self._kept_back is None:
            self.worker.update(step, age)
        else:
            self._update_with_kept_back(step, age)
        return step.share * len(step.batch)

    def _update_with_kept_back(self, step, age):
        """Updates the worker with all that was kept back added to its gradient, as all do."""
        self.worker.gradient(step)
        self.worker.replica.grad += self._kept_back
        self.worker.apply(age)
        self._kept_back = None

    def _meet(self, examples):
        self._kept_back = None  # a worker without examples has it from the others' mean
        with self.worker.exchanging():
            self._average(examples)

    def _tell_losses(self):
        """Tells all workers the losses of all, which each adds up in the same way."""
        figures = self.worker.figures
        with self.worker.exchanging():
            total = np.array([figures.loss, figures.examples])
            self._period.add(*self.worker.group.all_reduce(total))


class Period:
    """The number of minibatches between two averages, which follows the losses."""

    def __init__(self, master):
        self.master, self.now, self._first = master, master.period, 0.0
        self._loss, self._examples = 0.0, 0.0

    def add(self, loss, examples):
        """Adds a round's sum of losses, and its examples."""
        self._loss += float(loss)
        self._examples += float(examples)

    def adapt(self):
        """Adapts at the end of an epoch."""
        loss = self._loss / self._examples
        self._loss = self._examples = 0.0
        if not math.isfinite(loss):  # the driver turns it into an error
            return
        self._first = self._first or loss
        target = math.ceil(self.master.period * math.sqrt(max(0.0, loss / self._first)))
        if self.now <= target:
            target = math.ceil(self.now * self.master.plateau)
        self.now = max(1, target)

    def vector(self):
        """Returns the state of the period, for `restore`."""
        return np.array([self.now, self._first, self._loss, self._examples])

    def restore(self, vector):
        now, self._first, self._loss, self._examples = vector.tolist()
        self.now = int(now)
