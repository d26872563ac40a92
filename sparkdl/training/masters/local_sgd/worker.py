"""Strategy of LocalSGD in a worker, and the period between its averages."""

import math

import numpy as np

from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.all_reduce.worker import AllReduceWorker
from sparkdl.training.masters.parameter_averaging.worker import ParameterAveragingWorker


class LocalSGDWorker(ParameterAveragingWorker):
    """Strategy of LocalSGD in a worker."""

    lockstep = True

    def __init__(self, master, worker):
        super().__init__(master, worker)
        self._warm_up = AllReduceWorker(AllReduceSGD(sync_epochs=None, codec=master.codec), worker)
        self._kept_back, self._in_step = None, master.parallel_from > 0
        self._period = Period(master)
        if master.adaptive and "local_sgd" in worker.master_state:
            self._period.restore(worker.master_state["local_sgd"])

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

    def end_epoch(self) -> None:
        super().end_epoch()
        if self.master.adaptive and self.worker.epoch >= self.master.parallel_from:
            self._period.adapt()

    def state(self):
        master_state = {"local_sgd": self._period.vector()} if self.master.adaptive else {}
        return super().state() | {"master_state": master_state}

    def worker_state(self):
        return super().worker_state() | self._warm_up.worker_state()

    def _train(self, step, number):
        """Updates this worker alone if there is a step; returns its share of examples."""
        if step is None:
            self.worker.iteration += 1  # keeps pace with the other workers' updates
            return 0.0
        age = None if self.master.average_optimizer_state else number
        if self._kept_back is None:
            self.worker.update(step, age)
        else:
            self._update_with_kept_back(step, age)
        return step.share * len(step.batch)

    def _update_with_kept_back(self, step, age):
        """Updates the worker, adding the warm-up's summed codec residuals to its gradient."""
        self.worker.gradient(step)
        self.worker.replica.grad += self._kept_back
        self.worker.apply(age)
        self._kept_back = None

    def _meet(self, examples):
        self._kept_back = None  # a worker without examples receives it with the mean of the others
        self._average(examples)

    def _tell_losses(self) -> None:
        """Adds the sum of all workers' losses to the period's, which is the same on each worker."""
        metrics = self.worker.metrics
        with self.worker.exchanging():
            total = np.array([metrics.loss, metrics.examples])
            self._period.add(*self.worker.group.all_reduce(total))


class Period:
    """The number of minibatches between two averages, adapted to the loss."""

    def __init__(self, master):
        self.master, self.now, self._first = master, master.period, 0.0
        self._loss, self._examples = 0.0, 0.0

    def add(self, loss, examples):
        """Adds a round's sum of losses and its number of examples."""
        self._loss += float(loss)
        self._examples += float(examples)

    def adapt(self) -> None:
        """Adapts the period at the end of an epoch."""
        loss = self._loss / self._examples
        self._loss = self._examples = 0.0
        if not math.isfinite(loss):  # the driver raises an error for it
            return
        self._first = self._first or loss
        ratio = loss / self._first if self._first else 1.0  # a first loss of 0 cannot fall
        target = math.ceil(self.master.period * math.sqrt(max(0.0, ratio)))
        if self.now <= target:
            target = math.ceil(self.now * self.master.plateau)
        self.now = max(1, target)

    def vector(self):
        """Returns the state as a vector, for `restore`."""
        numbers = [self.now, self._first, self._loss, self._examples, self.master.period]
        return np.array(numbers, np.float64)

    def restore(self, vector):
        """Continues from `vector`, unless it is of a fit with another `LocalSGD.period`."""
        now, first, loss, examples, *periods = vector.tolist()  # older checkpoints have no period
        if periods and periods[0] != self.master.period:
            return
        self.now, self._first, self._loss, self._examples = int(now), first, loss, examples
