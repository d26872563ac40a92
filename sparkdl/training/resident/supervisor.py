"""The driver's side of a fit with resident workers.

A new group of workers replaces one that has lost a worker, or when executors are added or removed.
"""

import logging
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace

from sparkdl.errors import SparkdlError, WorkerError
from sparkdl.training.evaluation.base import require_examples
from sparkdl.training.reporting.events import (
    EpochDone,
    GroupDone,
    PhaseDone,
    RestartDone,
    RoundDone,
    validation_event,
)
from sparkdl.training.reporting.reports import Restart
from sparkdl.training.resident.fit_setup import DueEvents
from sparkdl.training.resident.metrics import WorkerMetrics, merge_metrics
from sparkdl.training.resident.per_worker_state import redistribute_worker_states
from sparkdl.training.resident.schedule import write_schedule
from sparkdl.training.resident.snapshot_clock import SnapshotClock
from sparkdl.training.resident.worker_group import LostWorker, WorkerGroup

log = logging.getLogger(__name__)
SALVAGE = 10.0  # most seconds to wait for the running round of an interrupted fit


class NoGroup(Exception):
    """Workers do not reach each other; the reason is the only argument."""


class Supervisor:
    """Launches and follows workers, and relaunches them if some are lost or executors change.

    Parameters
    ----------
    workers : Workers
    blocks : Blocks
    shared : FitSetup
        With the state to start from.
    extra : dict
        What checkpoints hold besides the state; updated when the number of workers changes.
    validation : what `workers.launch` takes, or None
    evaluate : function of a TrainState that gives an Evaluation, or None
        For evaluation by the driver.
    steering : Steering
        The listeners' requests, checked after each event.
    replaceable : bool
        Whether the fit can continue without a group if workers do not reach each other.
    """

    def __init__(
        self,
        workers,
        blocks,
        shared,
        extra,
        validation=None,
        evaluate=None,
        *,
        steering,
        replaceable=False,
    ):
        self.workers, self.blocks, self.shared = workers, blocks, shared
        self.extra, self.validation, self.evaluate = extra, validation, evaluate
        self.steering, self.replaceable = steering, replaceable
        self.reported_rounds = shared.state.rounds
        self._at, self._devices = shared.state, {}  # counters after the last reported round
        self._reason = None  # why the group ends to be relaunched on other slots

    def events(self):
        """Yields RoundDone, ValidationDone, EpochDone and RestartDone as they happen.

        Raises
        ------
        NoGroup
            If the first workers cannot form a group, and the fit is `replaceable`.
        WorkerError
            If workers were lost more than `max_restarts` times; it gives the last reason.
        SparkdlError
            Any other error of a worker, unchanged.
        """
        if self._is_over or self.steering.stopped:
            return
        losses, is_first = 0, True
        while losses <= self.shared.master.max_restarts:
            try:
                yield from self._attempt()
                if self._reason is None or self.steering.stopped:
                    return
                reason = self._reason
                self.workers.move(reason)
            except LostWorker as lost:
                reason, losses = lost.error, losses + 1
                if self._is_over:
                    log.warning("training is complete; a worker was lost at the end: %s", reason)
                    return
                if self.replaceable and is_first and lost.forming:
                    raise NoGroup(reason) from reason
            if losses <= self.shared.master.max_restarts or self.steering.stopped:
                yield RestartDone(self._go_back(reason), self.shared.state)
            if self.steering.stopped:
                return
            is_first = False
        again = f" ({losses - 1} restarts did not help)" if losses > 1 else ""
        raise WorkerError(f"{reason}{again}") from reason

    @property
    def _is_over(self):
        """Whether training is complete and listeners have been told."""
        return self.shared.over(self.shared.state) and not any(self.shared.due_events)

    def _attempt(self):
        group = WorkerGroup(self.workers, self.blocks, self.shared, self.validation)
        try:
            if (yield from self._follow(group)):
                yield GroupDone(group.finish())
        except (KeyboardInterrupt, GeneratorExit):
            with suppress(LostWorker, SparkdlError):
                self._salvage(group)
            raise
        finally:
            group.stop()

    def _follow(self, group):
        """Yields the events of a group; returns whether its workers end by themselves."""
        self._at = self.shared.state
        self._devices = dict(Counter(bytes(text).decode() for [text] in group.gather("device")))
        yield PhaseDone("launching")
        group.gather("joined")
        yield PhaseDone("balance")
        steered = yield from self._following(group)
        begun, last, self._reason = self._at.rounds, None, None
        self._clock = SnapshotClock(self.shared.master.snapshot_seconds, self.shared.state)
        while not self.shared.over(self._at) and self._at.rounds != last:
            if self.steering.stopped:
                if steered or self._is_safe:  # workers have been told, or are no longer needed
                    return steered
                last = group.halt() if last is None else last
            elif last is None and (reason := self._reason_to_move(self._at.rounds - begun)):
                last, self._reason = group.halt(), reason
            elif last is None and self._clock.is_due(self._at.rounds):
                self._clock.wait_for(group.request_state())
            yield self._next_round(group)
            steered = yield from self._following(group)
        if self.shared.over(self._at):
            self._reason = None
        return True

    def _reason_to_move(self, rounds):
        """Returns why a group should move to other slots after this many rounds, or None."""
        is_due = rounds and rounds % self.shared.master.rescale_every == 0
        return self.workers.reason_to_move() if is_due else None

    @property
    def _is_safe(self):
        """Whether the driver has the state after the last reported round."""
        return self._at.rounds == self.shared.state.rounds

    def _next_round(self, group):
        """Returns the next RoundDone, with the state if workers have sent it."""
        before, part = self._at, self.shared.part(self._at)
        reports = group.gather("report", before.rounds + 1)
        workers = [WorkerMetrics.of(vector) for [vector] in reports]
        report = merge_metrics(workers, before.epoch, part, self._devices, before.rate_factor)
        state = part.after(before, report.iteration)
        start = time.perf_counter()
        fields = group.snapshot(state.rounds)
        seconds = time.perf_counter() - start
        self.reported_rounds, self._at = state.rounds, state
        if fields is None:
            return RoundDone(report, None)
        self._clock.restart(max(seconds, *(worker.reporting for worker in workers)))
        self._at = state = replace(state, **fields)
        due = self.shared.due(before, state)
        self.shared = replace(self.shared, state=state, due_events=due)
        return RoundDone(report, state)

    def _salvage(self, group):
        """Lets an interrupted fit finish its running round, unless that takes too long.

        The driver gets the state; listeners are not told.
        """
        if self._is_safe:
            return
        group.limit(SALVAGE)
        last = group.halt()
        while self._at.rounds < last and not self.shared.over(self._at):
            self.steering.unheard.append(self._next_round(group))
            if self.shared.steered and any(self.shared.due_events) and self._is_safe:
                return  # workers wait for a reply
        group.finish()

    def _following(self, group):
        """Yields the events due after the round that led to the state, once.

        Returns whether workers wait for a reply, which they have then been sent.
        """
        state, due = self.shared.state, self.shared.due_events
        evaluation = self._evaluation(group, state) if due.evaluation else None
        self.shared = replace(self.shared, due_events=DueEvents())
        by_updates = self.shared.marks.validate is not None or not due.epoch
        if evaluation is not None and by_updates:
            yield validation_event(state, evaluation)
        if due.epoch:
            yield EpochDone(state, None if self.shared.marks.validate else evaluation)
        if not (self.shared.steered and any(due)):
            return False
        self._at = state = self.steering.steer(state)
        self.shared = replace(self.shared, state=state)
        word = {"rate_factor": state.rate_factor, "stop": self.steering.stopped}
        group.tell({"kind": "word", "rounds": state.rounds} | word)
        return True

    def _evaluation(self, group, state):
        if self.shared.evaluator is not None:
            return self._merge(group.gather("evaluated", state.rounds))
        return None if self.evaluate is None else self.evaluate(state)

    def _merge(self, parts):
        """Returns the Evaluation of all workers, merged in the order of rank."""
        first, *rest = map(self.shared.evaluator.restore, parts)
        for other in rest:
            first = first.merge(other)
        require_examples(first)
        return first

    def _go_back(self, reason):
        """Goes back to the last state, and redistributes the rest of the epoch to the available
        workers.
        """
        state, schedule = self.shared.state, self.shared.schedule
        room = max(1, min(self.workers.size, self.workers.room()))
        schedule = schedule.resize(room, state)
        write_schedule(schedule, self.extra)
        if schedule is not self.shared.schedule:  # a round that was cut starts over
            averages = self.shared.master.averages_messages
            states = redistribute_worker_states(state.worker_states, room, averages)
            state = replace(state, done=0, worker_states=states, place="")
        self.shared = replace(self.shared, schedule=schedule, state=state)
        restart = Restart(
            epoch=state.epoch,
            round=state.round,
            lost=self.reported_rounds - state.rounds,
            workers=room,
            reason=str(reason),
        )
        self.reported_rounds = state.rounds
        log.log(logging.INFO if reason is self._reason else logging.WARNING, "%s", restart)
        return restart
