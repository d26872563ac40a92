"""A fit whose workers stay, seen from the driver: crews, one after the other where one is lost."""

import logging
from dataclasses import replace

from sparkdl.errors import DataError, WorkerError
from sparkdl.training.evaluating import new_evaluation, with_counts
from sparkdl.training.events import EpochDone, Restarted, RoundDone
from sparkdl.training.report import Restart
from sparkdl.training.resident.crew import Crew, Lost
from sparkdl.training.resident.figures import Figures, merged
from sparkdl.training.resident.life import counted
from sparkdl.training.resident.schedule import told

log = logging.getLogger(__name__)


class Supervisor:
    """Launches workers, follows them, and launches others where some are lost.

    Parameters
    ----------
    workers : Workers
    blocks : Blocks
    shared : Shared
        With the state to start from.
    extra : dict
        What checkpoints hold besides the state; kept true where the number of workers changes.
    validation : what `workers.launch` takes, or None
    evaluate : function of a TrainState that gives an Evaluation, or None
        Where the driver evaluates.
    """

    def __init__(self, workers, blocks, shared, extra, validation=None, evaluate=None):
        self.workers, self.blocks, self.shared = workers, blocks, shared
        self.extra, self.validation, self.evaluate = extra, validation, evaluate
        self.told = shared.state.rounds

    def events(self):
        """Yields RoundDone, EpochDone and Restarted as they come, until all epochs are done.

        Raises
        ------
        WorkerError
            If workers were lost more than `max_restarts` times; why, the last time.
        SparkdlError
            What else a worker has raised, as it is.
        """
        if self.shared.state.epoch >= self.shared.epochs:
            return
        for attempt in range(self.shared.master.max_restarts + 1):
            try:
                yield from self._attempt()
                return
            except Lost as lost:
                reason = lost.error
            if attempt < self.shared.master.max_restarts:
                yield Restarted(self._go_back(reason))
        again = f" ({attempt} restarts did not help)" if attempt else ""
        raise WorkerError(f"{reason}{again}") from reason

    def _attempt(self):
        crew = Crew(self.workers, self.blocks, self.shared, self.validation)
        try:
            yield from self._follow(crew)
            crew.finish()
        finally:
            crew.stop()

    def _follow(self, crew):
        if self.shared.owes:
            yield self._epoch_done(crew)
        while self.shared.state.epoch < self.shared.epochs:
            yield from self._epoch(crew)
            yield self._epoch_done(crew)

    def _epoch(self, crew):
        state, schedule = self.shared.state, self.shared.schedule
        epoch, last = state.epoch, schedule.last_round(state.epoch)
        for number, blocks in schedule.todo(state):
            found = crew.gathered("report", state.rounds + 1)
            examples = sum(schedule.sizes[n] for n in blocks if n is not None)
            workers = [Figures.of(vector) for [vector] in found]
            report = merged(workers, epoch, number, last, examples)
            state = counted(state, number + 1 == last, report.iteration)
            yield RoundDone(report, self._adopted(crew, state))

    def _adopted(self, crew, state):
        """The TrainState after a round, if the driver was sent it: a fit now goes back to it."""
        self.told, found = state.rounds, crew.snapshot(state.rounds)
        if found is None:
            return None
        state = replace(state, **found)
        owes = self.shared.evaluates and state.round == 0
        self.shared = replace(self.shared, state=state, owes=owes)
        return state

    def _epoch_done(self, crew):
        state = self.shared.state
        if self.shared.evaluates:
            evaluation = self._merged(crew.gathered("evaluated", state.epoch - 1))
        else:
            evaluation = None if self.evaluate is None else self.evaluate(state)
        self.shared = replace(self.shared, owes=False)
        return EpochDone(state, evaluation)

    def _merged(self, parts):
        """The Evaluation of all workers, added in the order of rank."""
        conf = self.shared.conf
        first, *rest = (with_counts(new_evaluation(conf), counts) for counts in parts)
        for other in rest:
            first = first.merge(other)
        if not first.examples:
            raise DataError("there are no records to evaluate on")
        return first

    def _go_back(self, reason):
        """What is left of the epoch is dealt anew to the workers there are."""
        state, schedule = self.shared.state, self.shared.schedule
        room = max(1, min(self.workers.size, self.workers.room()))
        schedule = schedule.resized(room, state)
        told(schedule, self.extra)
        self.shared = replace(self.shared, schedule=schedule)
        restart = Restart(
            epoch=state.epoch,
            round=state.round,
            lost=self.told - state.rounds,
            workers=room,
            reason=str(reason),
        )
        self.told = state.rounds
        log.warning("%s", restart)
        return restart
