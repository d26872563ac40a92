"""Life cycle of a resident worker, from joining the group to its final report."""

import logging
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import replace

from sparkdl.errors import PeerError, SparkdlError
from sparkdl.exchange.group import Group
from sparkdl.exchange.rendezvous.address_rendezvous import AddressRendezvous
from sparkdl.nn.execution.device import PROCESSOR, choose_backend, describe_device
from sparkdl.nn.optimization.loss_scale import check_scale
from sparkdl.training.reporting.peak_memory import peak_memory
from sparkdl.training.resident.control import Control
from sparkdl.training.resident.driver_log import kept_warnings
from sparkdl.training.resident.metrics import WorkerMetrics
from sparkdl.training.resident.record_cache import RecordCache
from sparkdl.training.resident.steps import lockstep, steps_of
from sparkdl.training.resident.worker import Worker
from sparkdl.training.rounds.replica import closing_training, limit_threads

log = logging.getLogger(__name__)
ADVICE = (
    "each keeps a network of its own there, they take turns, and gradients go through the host; "
    "spark.task.resource.gpu.amount=1 or fewer workers give each a GPU"
)


def run_worker(secret, tls, shared, rank, blocks, validation):
    """Runs the task of a resident master's worker; see Workers.launch.

    The secret and the TLS key travel with the task, as data shared by workers may travel in files.
    """
    shared = replace(shared, secret=secret, tls=tls)
    limit_threads()
    with (
        kept_warnings() as warnings,
        closing(Control(shared, rank, warnings)) as control,
        report_errors(control),
    ):
        device = describe_device(choose_backend(shared.master.device, shared.master.backend))
        control.report_device(device)  # first, since the device may be missing
        log.info("computes on %s", device)
        with (
            open_cache(blocks, control) as records,
            open_cache(enumerate(validation or ()), control) as validation_records,
        ):
            with report_errors(control, forming=True):
                group = join_group(shared, rank, device)
            with closing(group), report_errors(control):
                control.report_joined()
                worker = Worker(shared, group, control.saved_state, control.take_share())
                with closing_training(worker.replica):
                    WorkerLifecycle(shared, control, worker, records, validation_records).run()


@contextmanager
def report_errors(control, forming=False):
    """Reports errors raised in this context to the driver, before peers notice the consequences.

    While a group is `forming`, an unreachable peer is reported as such.
    """
    try:
        yield
    except Exception as error:
        with suppress(SparkdlError):  # the driver itself may be lost
            control.report_failure(error, forming and isinstance(error, PeerError))
        raise


@contextmanager
def open_cache(blocks, control):
    """Opens a RecordCache with all blocks, reporting progress to the driver while it is filled."""
    with closing(RecordCache(control.report_reading(blocks))) as records:
        yield records


def join_group(shared, rank, device):
    """Joins the Group of all workers, waiting for those that are still reading records."""
    master = shared.master
    with meeting_at_driver(shared, rank) as rendezvous:
        sharing = rendezvous.all_gather(device, master.stall_timeout).count(device)
        if sharing > 1 and device != PROCESSOR:
            log.warning("%d workers compute on one %s: %s", sharing, device, ADVICE)
        return Group.form(
            rendezvous,
            shared.secret,
            timeout=master.timeout,
            stall_timeout=master.stall_timeout,
            ports=master.ports,
            interface=master.interface,
            **shared.layers,
            toward=shared.address[0],
            shared_memory=master.shared_memory,
        )


def meeting_at_driver(shared, rank):
    """Returns the rendezvous of all workers, where the driver listens.

    Spark's own BarrierTaskContext.allGather polls only once a second.
    """
    return AddressRendezvous(
        shared.address,
        shared.secret,
        rank,
        shared.schedule.workers,
        **shared.layers,
        timeout=shared.master.timeout,
    )


class WorkerLifecycle:
    """Runs a worker's epochs and rounds.

    Parameters
    ----------
    shared : FitSetup
    control : Control
    worker : Worker
    records, validation_records : RecordCache
        This worker's blocks, and its share of the validation data.
    """

    def __init__(self, shared, control, worker, records, validation_records):
        self.shared, self.control, self.worker = shared, control, worker
        self.records, self.validation_records = records, validation_records
        self.strategy = shared.master.strategy(worker)

    def run(self):
        """Trains until all epochs are done or the driver ends the fit."""
        state = self.shared.state
        with closing(self.strategy):
            over = self._follow(state, self.shared.due_events)
            while not over and not self.shared.over(state):
                before, part = state, self.shared.part(state)
                self.worker.epoch = state.epoch
                self._round(part)
                state = part.after(state, self.worker.iteration)
                is_last = self.control.orders.is_last(state.rounds)
                self._tell(before, state, is_last)
                over = self._follow(state, self.shared.due(before, state)) or is_last
            self.control.report_end(state.rounds, self.worker.sent_by_rank)

    def _follow(self, state, due):
        """Handles the events due after a round; returns whether the driver ends the fit with it."""
        if due.evaluation and self.shared.evaluator is not None:
            self._evaluate(state)
        if not (self.shared.steered and any(due)):
            return False
        word = self.control.orders.word(state.rounds)
        self.worker.rate_factor = word["rate_factor"]
        return word["stop"]

    def _round(self, part):
        worker, start, sent = self.worker, time.perf_counter(), self.worker.sent_bytes
        worker.metrics, skipped = WorkerMetrics(), worker.replica.left_out
        steps = steps_of(self.shared, self.records, part.blocks[worker.rank], part, worker)
        with closing(self._while_driver_lives(steps)) as steps:
            if self.strategy.lockstep:
                steps = lockstep(steps, self.shared, part, worker)
            self.strategy.round(steps)
        if part.ends_epoch:
            self.strategy.end_epoch()
        metrics = worker.metrics
        check_scale(worker.conf, worker.replica.buffers)
        metrics.skipped = worker.replica.left_out - skipped
        metrics.iteration, metrics.finite = worker.iteration, float(worker.is_finite())
        metrics.sent, metrics.memory = worker.sent_bytes - sent, peak_memory()
        metrics.duration = time.perf_counter() - start

    def _while_driver_lives(self, steps):
        """Yields the steps; raises an error once the driver is gone."""
        self.control.check()
        for step in steps:
            self.control.check()
            yield step

    def _tell(self, before, state, is_last):
        """Sends the snapshot before the report, so that every reported round can be restored."""
        wanted = is_last or self.control.orders.wants_state(state.rounds)
        if wanted or self.shared.is_snapshot(before, state):
            self._send_snapshot(state)
        self.control.report(state, self.worker.metrics)

    def _send_snapshot(self, state):
        metrics, start = self.worker.metrics, time.perf_counter()
        exchanging = metrics.exchanging
        fields = {"master_state": {}} | self.strategy.state()
        if self.worker.rank == 0:
            self.control.snapshot(replace(state, **fields))
        if worker_state := self.strategy.worker_state():
            self.control.worker_state(state.rounds, worker_state)
        seconds = time.perf_counter() - start
        metrics.reporting = seconds - (metrics.exchanging - exchanging)
        metrics.duration += seconds

    def _evaluate(self, state):
        evaluator = self.shared.evaluator
        with self.strategy.in_use() as replica:
            batches = map(self.validation_records.block, self.validation_records)
            evaluation = evaluator.evaluate(replica, batches)
        self.control.report_evaluation(state.rounds, evaluator.counts(evaluation))
