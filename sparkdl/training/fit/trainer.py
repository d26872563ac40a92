"""Main loop of a fit: epochs of rounds, with listeners, validation, checkpoints and resumption."""

import logging
from contextlib import closing
from dataclasses import replace

from sparkdl.config import is_integer
from sparkdl.errors import ConfigError, DivergedError
from sparkdl.nn.optimization.weight_average import begin_averages
from sparkdl.training.fit.continuation import Continuation
from sparkdl.training.reporting.counters import COUNTERS, ENDING, HEARD, CounterKeeper
from sparkdl.training.reporting.events import RestartDone, drive_rounds
from sparkdl.training.reporting.history import SUMS, History
from sparkdl.training.reporting.listeners import Listeners
from sparkdl.training.reporting.peak_memory import peak_memory
from sparkdl.training.reporting.phases import PhaseEnd, Phases
from sparkdl.training.reporting.reports import EpochSums, FitPlan, Restart
from sparkdl.training.reporting.steering import Steering, StopTraining
from sparkdl.training.resident.fit_setup import DueEvents, FitSetup
from sparkdl.training.resident.schedule import BEGUN, schedule_of
from sparkdl.training.resident.supervisor import NoGroup, Supervisor
from sparkdl.training.rounds.milestones import Milestones
from sparkdl.training.saving.checkpoint import CheckpointWriter

log = logging.getLogger(__name__)


class Trainer:
    """Runs a master's rounds over blocks.

    Parameters
    ----------
    conf : NetworkConf
    master : TrainingMaster
    workers : Workers
    listeners : sequence of Listener
    checkpoints : Checkpoints or None
    evaluate : function of a TrainState that gives an Evaluation, or None
    validation : Validation or None
        Data that resident workers evaluate themselves, in place of `evaluate`.
    figures : tuple of str or None
        Names of the figures of epochs and evaluations; None if unknown.
    metrics : Metrics or None
        Of the user's own, which evaluations have beside their figures.
    marks : Milestones
        The end, and where else workers wait for each other; listeners may ask for more.
    without_group : TrainingMaster or None
        Takes over if the workers of a resident master do not reach each other.
    phases : Phases or None
        The clock of the fit; None: it starts now.
    changes : tuple
        Applied to the records; a resumed fit must have the same.

    Attributes
    ----------
    state, history, extra
        Of the current or last fit, once it has begun: the last TrainState known to the driver, a
        History up to that state, and what a checkpoint would hold besides.
    continuation : Continuation
        Of earlier fits, by this one.
    """

    def __init__(
        self,
        conf,
        master,
        workers,
        *,
        listeners=(),
        checkpoints=None,
        evaluate=None,
        validation=None,
        figures=("loss",),
        metrics=None,
        marks=Milestones(),  # noqa: B008
        without_group=None,
        phases=None,
        changes=(),
    ):
        master.check_network(conf)
        self.conf, self.master, self.workers = conf, master, workers
        self.without_group, self.phases = without_group, phases or Phases()
        self.every = () if checkpoints is None else (checkpoints.every_rounds,)
        self.validation, self.figures = validation, figures
        self.writer = None if checkpoints is None else CheckpointWriter(checkpoints)
        self.metrics = metrics
        computing = [metrics] if metrics else []
        self.listeners = Listeners(*computing, *self._in_order(listeners))
        self.evaluate = evaluate
        self.state = self.history = self.extra = None
        self.marks = replace(marks, show=(*marks.show, *self.listeners.every_updates))
        changes = tuple(map(repr, changes))
        self.continuation = Continuation(master, workers, self.marks, changes)
        if self.marks and conf.tbptt is not None:
            raise ConfigError("with tbptt a fit cannot count updates; give epochs instead")

    def _in_order(self, listeners):
        """Returns the listeners in the order of notification, including the trainer's own.

        The checkpoint is written before other listeners hear of the round, as they may fail. It
        includes the counters and decisions of listeners that count or steer, which therefore come
        first.
        """
        steering = [one for one in listeners if one.steers]
        counting = [one for one in listeners if one.counters and not one.steers]
        keeper = CounterKeeper(one for one in (*steering, *counting) if one.counters)
        writing = [self.writer, PhaseEnd(self.phases, "checkpoints")] if self.writer else []
        others = [one for one in listeners if not (one.steers or one.counters)]
        return *steering, *counting, keeper, *writing, *others

    def fit(self, blocks, state, epochs, transform=None, resumed=None):
        """Trains until `epochs` epochs after the state's own are done.

        `resumed` is the extra of the checkpoint that the state is from, if a fit is resumed: it
        then ends where that fit would have.

        Sets `state` and `history`; if there is nothing left to do, the state is the given one.

        Raises
        ------
        DivergedError
            If the loss is not finite; names the round and the last good checkpoint.
        """
        resumed = resumed or {}
        first = resumed.get("first_epoch", state.epoch)
        state = self._enter(blocks, state, resumed)
        history = self._begin_history(resumed)
        self.steering = Steering(self.listeners.steers, state.rate_factor, resumed.get(ENDING))
        extra = {**self.continuation.fingerprint(blocks), "first_epoch": first}
        extra |= self._remembered(state, resumed)
        self.phases.end("starting")
        plan = self._plan(blocks, state, first + epochs, extra, history)
        self._tell(self.listeners.on_fit_start, plan)
        self.state, self.history, self.extra = state, history, extra
        try:
            self._follow(self._events(blocks, state, first + epochs, transform, extra))
        except DivergedError as error:
            self.steering.error, history.end_reason = error, str(error)
            raise self._with_checkpoint(error) from error
        except BaseException as error:
            self.steering.error = error
            self._keep(state.rounds, error)
            raise
        finally:
            self._end_history(extra)
        self.state = self.steering.ending(self.state)

    def _enter(self, blocks, state, resumed):
        """Returns the state from which the rounds start, with its place in the data."""
        state = self.continuation.restore_worker_states(state, bool(resumed))
        other_workers = resumed.get(BEGUN)  # these have begun the epoch
        return replace(state, place="" if other_workers else self.continuation.place(blocks))

    def _begin_history(self, resumed):
        earlier, master = resumed.get(SUMS), self.master.shown_options()
        earlier = earlier and EpochSums(**earlier)
        return History(phases=self.phases.seconds, master=master, earlier=earlier)

    def _remembered(self, state, resumed):
        """Returns what a checkpoint holds of listeners and workers, as the resumed one had it."""
        heard = {"epoch": state.epoch, "iteration": state.iteration or -1}
        defaults = {ENDING: None, COUNTERS: None, HEARD: heard}
        if self.master.resident:
            defaults[BEGUN] = None
        return {name: resumed.get(name, value) for name, value in defaults.items()}

    def _follow(self, events):
        """Notifies listeners of all events, and writes the checkpoint of a fit that they stop."""
        with closing(events):
            for event in events:
                event.end(self.phases)
                self.state = event.state or self.state
                self._tell(event.tell, self.history, self.listeners)
        if self.writer is not None and self.steering.stopped:
            self.writer.on_stop(self.state)
            self.phases.end("checkpoints")

    def _end_history(self, extra):
        history = self.history
        self.phases.end("ending")
        history.end_reason = history.end_reason or self.steering.end_reason
        history.driver_memory = peak_memory()
        history.other_memory = self.workers.other_memory()
        history.note_sums(extra)
        self.listeners.on_fit_end(history)
        self.phases.end("listeners")

    def _keep(self, rounds, error):
        """Makes state and history of an interrupted fit agree; it began after `rounds` rounds."""
        for event in self.steering.unheard:
            self.history.add_round(event.report)
            self.state = event.state or self.state
        self.state = self.steering.steer(self.state)
        self.history.keep_rounds(self.state.rounds - rounds)
        where = f"epoch {self.state.epoch + 1}, round {self.state.round + 1}"
        self.history.end_reason = f"interrupted by {type(error).__name__}; what is next is {where}"

    def _tell(self, tell, *arguments):
        """Notifies listeners of an event; one of them may stop the fit."""
        try:
            tell(*arguments)
        except StopTraining as stop:
            self.steering.stop(str(stop))
        self.phases.end("listeners")

    def _due(self, state, heard):
        """Returns the DueEvents of completed rounds that listeners have not been told of."""
        every, updates = self.marks.validate, heard["iteration"]
        ended = state.starts_epoch and heard["epoch"] < state.epoch
        if not state.iteration:
            return DueEvents(evaluation=self.marks.first and updates < 0)
        if every is None:
            return DueEvents(ended, ended)
        return DueEvents(state.iteration // every > max(0, updates) // every, ended)

    def _events(self, blocks, state, epochs, transform, extra):
        """Returns an iterator over the events of the fit: RoundDone, EpochDone ..."""
        due = self._due(state, extra[HEARD])
        if not self.master.resident:
            return self._driven(blocks, state, epochs, transform, due)
        supervisor = self._supervisor(blocks, state, epochs, transform, extra, due)
        if self.without_group is None:
            return supervisor.events()
        return self._grouped_or_driven(supervisor, blocks, state, epochs, transform, extra, due)

    def _driven(self, blocks, state, epochs, transform, due):
        parts = self.master, self.workers, self.conf, blocks, state
        marks, steering = self.marks, self.steering
        return drive_rounds(*parts, epochs, transform, self.evaluate, marks, steering, due)

    def _grouped_or_driven(self, supervisor, blocks, state, epochs, transform, extra, due):
        """Yields events; falls back to averaging by the driver if no group forms."""
        try:
            yield from supervisor.events()
        except NoGroup as lost:
            self.master = self.without_group
            self.history.master = self.master.shown_options()
            extra.pop(BEGUN)
            self.continuation = replace(self.continuation, master=self.master)
            extra.update(self.continuation.fingerprint(blocks))
            reason = f"workers do not reach each other, so the driver averages: {lost}"
            log.warning("%s", reason)
            state = replace(state, worker_states=(), place=self.continuation.place(blocks))
            yield RestartDone(
                Restart(
                    epoch=state.epoch,
                    round=state.round,
                    lost=0,
                    workers=self.workers.size,
                    reason=reason,
                ),
                state,
            )
            yield from self._driven(blocks, state, epochs, transform, due)

    def _supervisor(self, blocks, state, epochs, transform, extra, due):
        on = self.validation
        shared = FitSetup(
            conf=self.conf,
            master=self.master,
            state=state,
            epochs=epochs,
            schedule=schedule_of(blocks, self.workers, state, extra),
            transform=transform,
            evaluator=None if on is None else on.evaluator,
            marks=self.marks,
            due_events=due,
            snapshot_every_rounds=(self.master.snapshot_every, *filter(None, self.every)),
            steered=self.steering.waits,
        )
        batches = None if on is None else on.batches
        options = {"steering": self.steering, "replaceable": self.without_group is not None}
        return Supervisor(self.workers, blocks, shared, extra, batches, self.evaluate, **options)

    def _plan(self, blocks, state, epochs, extra, history):
        return FitPlan(
            conf=self.conf,
            epochs=epochs,
            rounds_in_epoch=self.master.rounds_in_epoch(self.workers, blocks),
            workers=self.workers.size,
            epoch=state.epoch,
            round=state.round,
            rounds=state.rounds,
            iteration=state.iteration,
            updates=self.marks.last,
            extra=extra,
            figures=self.figures,
            metrics=self.metrics.names if self.metrics else (),
            steering=self.steering,
            history=history,
            master=self.master,
        )

    def _with_checkpoint(self, error):
        last = None if self.writer is None else self.writer.last
        where = (
            f"the last good checkpoint is {last}"
            if last
            else "there is no checkpoint to go back to"
        )
        return DivergedError(f"{error}; {where}")


def start_state(conf, master, state):
    """Returns the state to start from, with the seed of the master or else of the network."""
    slots = begin_averages(conf, state.params, state.slots)
    return replace(state, slots=slots, seed=conf.seed if master.seed is None else master.seed)


def check_epochs(epochs):
    if not is_integer(epochs, 1):
        raise ConfigError(f"epochs must be an integer >= 1, got {epochs!r}")
