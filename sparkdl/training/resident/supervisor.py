"""A fit whose workers stay, as the driver runs it: after a loss, a new group of workers."""

import logging
from collections import Counter
from dataclasses import replace

from sparkdl.errors import DataError, WorkerError
from sparkdl.training.reporting.events import (
    EpochDone,
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
from sparkdl.training.resident.worker_group import LostWorker, WorkerGroup

log = logging.getLogger(__name__)


class NoGroup(Exception):
    """Workers do not reach each other; why is the only argument."""


class Supervisor:
    """Launches workers, follows them, and launches others if some are lost.

    Parameters
    ----------
    workers : Workers
    blocks : Blocks
    shared : FitSetup
        With the state to start from.
    extra : dict
        What checkpoints hold besides the state; kept true where the number of workers changes.
    validation : what `workers.launch` takes, or None
    evaluate : function of a TrainState that gives an Evaluation, or None
        Where the driver evaluates.
    steering : Steering
        What listeners wish, looked at after each event.
    replaceable : bool
        Whether a fit whose workers do not reach each other can go on without a group.
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

    def events(self):
        """Yields RoundDone, ValidationDone, EpochDone and RestartDone as they come.

        Raises
        ------
        NoGroup
            If the first workers cannot form a group, and the fit is `replaceable`.
        WorkerError
            If workers were lost more than `max_restarts` times; why, the last time.
        SparkdlError
            What else a worker has raised, as it is.
        """
        if self.shared.over(self.shared.state) or self.steering.stopped:
            return
        for attempt in range(self.shared.master.max_restarts + 1):
            try:
                yield from self._attempt()
                return
            except LostWorker as lost:
                reason = lost.error
                if self.replaceable and not attempt and lost.forming:
                    raise NoGroup(reason) from reason
            if attempt < self.shared.master.max_restarts or self.steering.stopped:
                yield RestartDone(self._go_back(reason))
            if self.steering.stopped:
                return
        again = f" ({attempt} restarts did not help)" if attempt else ""
        raise WorkerError(f"{reason}{again}") from reason

    def _attempt(self):
        group = WorkerGroup(self.workers, self.blocks, self.shared, self.validation)
        try:
            if (yield from self._follow(group)):
                group.finish()
        finally:
            group.stop()

    def _follow(self, group):
        """Yields the events of a group; returns whether its workers end by themselves."""
        devices = Counter(bytes(text).decode() for [text] in group.gather("device"))
        yield PhaseDone("launching")
        group.gather("joined")
        yield PhaseDone("balance")
        steered = yield from self._following(group)
        state, last = self.shared.state, None
        while not self.shared.over(state) and state.rounds != last:
            if self.steering.stopped:
                if steered or state is self.shared.state:  # workers know, or are of no more use
                    return steered
                last = group.halt() if last is None else last
            before, part = state, self.shared.part(state)
            reports = group.gather("report", state.rounds + 1)
            workers = [WorkerMetrics.of(vector) for [vector] in reports]
            report = merge_metrics(workers, state.epoch, part, dict(devices))
            state = part.after(state, report.iteration)
            yield RoundDone(report, self._adopt(group, state, self.shared.due(before, state)))
            steered = yield from self._following(group)
            if state.rounds == self.shared.state.rounds:
                state = self.shared.state
        return True

    def _adopt(self, group, state, due):
        """Returns the TrainState after a round, to go back to, if the driver was sent it."""
        self.reported_rounds, fields = state.rounds, group.snapshot(state.rounds)
        if fields is None:
            return None
        state = replace(state, **fields)
        self.shared = replace(self.shared, state=state, due_events=due)
        return state

    def _following(self, group):
        """Yields the events due after the round that led to the state, once.

        Returns whether workers were told how to go on, if they wait for it.
        """
        state, due = self.shared.state, self.shared.due_events
        evaluation = self._evaluation(group, state) if due.evaluation else None
        self.shared = replace(self.shared, due_events=DueEvents())
        if evaluation is not None and self.shared.marks.validate is not None:
            yield validation_event(state, evaluation)
        if due.epoch:
            yield EpochDone(state, None if self.shared.marks.validate else evaluation)
        if not (self.shared.steered and any(due)):
            return False
        state = self.steering.steer(state)
        self.shared = replace(self.shared, state=state)
        word = {"rate_factor": state.rate_factor, "stop": self.steering.stopped}
        group.tell({"kind": "word", "rounds": state.rounds} | word)
        return True

    def _evaluation(self, group, state):
        if self.shared.evaluator is not None:
            return self._merge(group.gather("evaluated", state.rounds))
        return None if self.evaluate is None else self.evaluate(state)

    def _merge(self, parts):
        """Returns the Evaluation of all workers, added in the order of rank."""
        first, *rest = map(self.shared.evaluator.restore, parts)
        for other in rest:
            first = first.merge(other)
        if not first.examples:
            raise DataError("there are no records to evaluate on")
        return first

    def _go_back(self, reason):
        """Deals the rest of the epoch anew to the workers that are left."""
        state, schedule = self.shared.state, self.shared.schedule
        room = max(1, min(self.workers.size, self.workers.room()))
        schedule = schedule.resize(room, state)
        write_schedule(schedule, self.extra)
        if schedule is not self.shared.schedule:  # a round that was cut begins anew
            averages = self.shared.master.averages_messages
            states = redistribute_worker_states(state.worker_states, room, averages)
            state = replace(state, done=0, worker_states=states)
        self.shared = replace(self.shared, schedule=schedule, state=state)
        restart = Restart(
            epoch=state.epoch,
            round=state.round,
            lost=self.reported_rounds - state.rounds,
            workers=room,
            reason=str(reason),
        )
        self.reported_rounds = state.rounds
        log.warning("%s", restart)
        return restart
