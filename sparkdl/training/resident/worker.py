"""Context of a strategy in a worker: the replica, the other workers, the progress of the fit."""

import time
from contextlib import contextmanager

import numpy as np

from sparkdl.exchange.devices.device_links import link_devices
from sparkdl.exchange.store import KeyValueStore, Places
from sparkdl.nn.optimization.loss_scale import FLOAT16
from sparkdl.nn.optimization.parameter_options import fixed_parts
from sparkdl.training.resident.buffer_mean import Infinities
from sparkdl.training.resident.metrics import WorkerMetrics


class Worker:
    """A replica, the other workers, and the progress of training.

    Attributes
    ----------
    conf : NetworkConf
    replica : Replica
        Loaded with the state that all start from.
    group : Group
        All workers; `rank` and `size` are those of the group.
    master_state : {name: vector}
        State of the master that all start from; empty at first.
    saved_state : {name: vector}
        State of this worker alone that it starts from.
    tables : {"table/array": vector} or StoredTables
        The tables as sent to all workers.
    epoch, iteration : int
        The current epoch; updates done so far, which learning rates depend on.
    rate_factor : float
        Of all learning rates.
    metrics : WorkerMetrics
        Of the current round.
    start_buffers : vector
        The buffers when they were last equal in all workers.
    """

    def __init__(self, shared, group, saved_state, share):
        self.conf = shared.conf
        self.replica = shared.master.replica(shared, group, share)
        self.group = link_devices(group, self.replica.link, shared.master.exchange)
        state = shared.state
        self.master_state, self.saved_state = state.master_state, saved_state
        self.tables = state.tables
        self.epoch, self.iteration = state.epoch, state.iteration
        self.rate_factor = state.rate_factor
        self.metrics = WorkerMetrics()
        buffers = self.replica.buffers
        self.start_buffers = buffers.copy() if self.size > 1 else buffers
        self._infinities = Infinities(self.conf, buffers)
        self._fixed = fixed_parts(self.conf)
        self._shared, self._stores = shared, []

    def store(self, **options):
        """Returns a KeyValueStore of all workers with these options; all must call this."""
        master, secret = self._shared.master, self._shared.secret
        limits = {"timeout": master.timeout, "stall_timeout": master.stall_timeout}
        where = {"ports": master.ports, "interface": master.interface} | self._shared.layers
        places = Places.of(
            self.group, secret, timeout=master.timeout, toward=self._shared.address[0], **where
        )
        self._stores.append(KeyValueStore(places, **limits, **options))
        return self._stores[-1]

    @property
    def sent_bytes(self):
        """Bytes sent to other workers since the start."""
        return sum(self.sent_by_rank)

    @property
    def sent_by_rank(self):
        """Bytes sent to each worker since the start."""
        sent = list(self.group.sent_by_rank)
        for store in self._stores:
            for rank, count in store.sent_by_rank.items():
                sent[rank] += count
        return sent

    @property
    def rank(self):
        return self.group.rank

    @property
    def size(self):
        return self.group.size

    def update(self, step, age=None):
        """Updates the replica once, without exchange.

        Parameters
        ----------
        age : int, optional
            Number of updates of the slots including this one; the weights' by default.
        """
        rate, age = self._next(age)
        loss = self.replica.step(step.batch, rate, age, self.epoch, step.states)
        self.count(step, loss, len(step.batch))

    def gradient(self, step, after=None, queued=None):
        """Fills replica.grad with the mean gradient of a step; returns its number of examples."""
        replica = self.replica
        loss, examples = replica.gradient(step.batch, self.epoch, after, step.states, queued)
        self.count(step, loss, examples)
        return examples

    def count(self, step, loss, examples):
        """Counts the examples of a step, and the sum of their losses."""
        self.metrics.loss += step.share * loss
        self.metrics.examples += step.share * examples

    def all_finite(self):
        """Returns whether replica.grad is finite in all workers; all must call it.

        If not, it becomes NaN in all of them, so that none updates. Only float16 is checked; with
        other types the losses reveal it.
        """
        if self.conf.dtype != FLOAT16:
            return True
        grad = self.replica.grad
        if not self.maximum(not np.isfinite(grad).all()):
            return True
        grad[:] = np.nan
        return False

    def clear_fixed(self, vector):
        """Zeroes the numbers of a gradient or step that belong to fixed parameters.

        This leaves a codec more room for the others.
        """
        for part in self._fixed:
            vector[part] = 0

    def apply(self, age=None, conf=None):
        """Makes one update with replica.grad; `conf` may be a section of the network."""
        self.replica.apply(*self._next(age, conf))

    def _next(self, age, conf=None):
        """Returns (learning rate, number) of the next update, and sets the replica's counters."""
        rate = self.rate_of(conf or self.conf, self.iteration)
        self.replica.iteration, self.replica.epoch = self.iteration, self.epoch
        self.iteration += 1
        return rate, self.iteration if age is None else age

    def rate_of(self, conf, iteration):
        """Returns the learning rate of an update; `conf` may be a section of the network."""
        return conf.rate_at(iteration, self.epoch) * self.rate_factor

    @contextmanager
    def exchanging(self):
        """Counts the time spent in this context as exchange rather than compute."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.metrics.exchanging += time.perf_counter() - start

    def maximum(self, number):
        """Returns the largest of the workers' numbers; all must call it."""
        with self.exchanging():
            numbers = np.array([number], np.int64)
            self.group.all_reduce(numbers, op="max")
        return int(numbers[0])

    def is_finite(self):
        """Returns whether the weights and the round's loss are finite.

        Infinities in a live model's initial buffers are constants, and allowed.
        """
        with np.errstate(all="ignore"):
            total = self.replica.kept_params.sum(dtype=np.float64)
        is_finite = bool(np.isfinite([float(self.metrics.loss), total]).all())
        return is_finite and self._infinities.are_all_in(self.replica.buffers)
