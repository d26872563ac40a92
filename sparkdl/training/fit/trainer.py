"""Main loop of a fit: epochs of rounds, with listeners, validation, checkpoints and resumption."""

import json
import logging
from contextlib import closing
from dataclasses import replace
from functools import partial

from sparkdl.config import is_integer
from sparkdl.errors import CheckpointError, ConfigError, DivergedError
from sparkdl.nn.optimization.weight_average import begin_averages
from sparkdl.training.reporting.counters import COUNTERS, ENDING, HEARD, CounterKeeper
from sparkdl.training.reporting.events import RestartDone, drive_rounds
from sparkdl.training.reporting.history import SUMS, History
from sparkdl.training.reporting.listeners import Listeners
from sparkdl.training.reporting.peak_memory import peak_memory
from sparkdl.training.reporting.phases import PhaseEnd, Phases
from sparkdl.training.reporting.reports import EpochSums, FitPlan, Restart
from sparkdl.training.reporting.steering import Steering, StopTraining
from sparkdl.training.resident.fit_setup import DueEvents, FitSetup
from sparkdl.training.resident.per_worker_state import redistribute_worker_states
from sparkdl.training.resident.schedule import BEGUN, schedule_of
from sparkdl.training.resident.supervisor import NoGroup, Supervisor
from sparkdl.training.rounds.milestones import Milestones
from sparkdl.training.rounds.round_part import locate_update
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
        self.changes = [repr(change) for change in changes]
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
        first = (resumed or {}).get("first_epoch", state.epoch)
        state = self._restore_worker_state(state, bool(resumed))
        other_workers = (resumed or {}).get(BEGUN)  # these have begun the epoch
        state = replace(state, place="" if other_workers else self.place(blocks))
        sums = (resumed or {}).get(SUMS)
        history = History(
            phases=self.phases.seconds,
            master=self.master.shown_options(),
            earlier=sums and EpochSums(**sums),
        )
        ending = (resumed or {}).get(ENDING)
        self.steering = Steering(self.listeners.steers, state.rate_factor, ending)
        extra = self.fingerprint(blocks) | {"first_epoch": first, ENDING: ending}
        extra[COUNTERS] = (resumed or {}).get(COUNTERS)
        heard = {"epoch": state.epoch, "iteration": state.iteration or -1}
        extra[HEARD] = (resumed or {}).get(HEARD, heard)
        due = self._due(state, extra[HEARD])
        if self.master.resident:
            extra[BEGUN] = (resumed or {}).get(BEGUN)
        self.phases.end("starting")
        last = first + epochs
        plan = self._plan(blocks, state, last, extra, history)
        self._tell(self.listeners.on_fit_start, plan)
        self.state, self.history, self.extra = state, history, extra
        try:
            with closing(self._events(blocks, state, last, transform, extra, due)) as events:
                for event in events:
                    event.end(self.phases)
                    self.state = event.state or self.state
                    self._tell(event.tell, history, self.listeners)
            if self.writer is not None and self.steering.stopped:
                self.writer.on_stop(self.state)
                self.phases.end("checkpoints")
        except DivergedError as error:
            self.steering.error, history.end_reason = error, str(error)
            raise self._with_checkpoint(error) from error
        except BaseException as error:
            self.steering.error = error
            self._keep(state.rounds, error)
            raise
        finally:
            self.phases.end("ending")
            history.end_reason = history.end_reason or self.steering.end_reason
            history.driver_memory = peak_memory()
            history.other_memory = self.workers.other_memory()
            history.note_sums(extra)
            self.listeners.on_fit_end(history)
            self.phases.end("listeners")
        self.state = self.steering.ending(self.state)

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

    def locate(self, blocks, state):
        """Returns the state at the place in the data that a fit reaches after as many updates.

        For states that come with no other counter than their number of updates.
        """
        if not state.iteration:
            return state
        if self.master.resident:
            plan = schedule_of(blocks, self.workers, state, {}).rounds
        else:
            plan = partial(self._plan_of_driver, blocks, state)
        marks = replace(self.marks, last=state.iteration)
        return locate_update(state, plan, blocks.sizes, self.master, marks)

    def _plan_of_driver(self, blocks, state, epoch):
        return self.master.plan(self.workers, blocks, replace(state, epoch=epoch))

    def enter(self, blocks, state):
        """Returns the initial state of a fit that is not resumed.

        A place inside an epoch is valid only for the same rounds: otherwise the next epoch begins,
        so that no record of the new rounds is left out.
        """
        if state.starts_epoch or state.place == self.place(blocks):
            return state
        log.info(
            "the previous fit ended inside epoch %d, whose rounds were different: epoch %d begins",
            state.epoch + 1,
            state.epoch + 2,
        )
        return replace(state, epoch=state.epoch + 1, round=0, done=0)

    def place(self, blocks):
        """Returns a text that is the same whenever an epoch's rounds have the same records.

        The contents of records are not compared.
        """
        return json.dumps({**self.fingerprint(blocks), "marks": None})  # marks only cut rounds

    def fingerprint(self, blocks):
        """Returns the settings that a resumed run must share with the interrupted one."""
        sizes = blocks.sizes
        data = {"workers": self.workers.size, "records": sum(sizes), "blocks": len(sizes)}
        data |= {"changes": self.changes, "marks": self.marks.identity()}
        return {"master": type(self.master).__name__} | self.master.identity() | data

    def check_resumed(self, blocks, extra, resume):
        """Raises CheckpointError if data, master or workers differ from the checkpoint's."""
        path = "the last fit" if resume is True else resume
        if "first_epoch" not in extra:
            raise CheckpointError(
                f"{path} is a saved model, not a checkpoint of a fit; load it and fit it"
            )
        for name, now in self.fingerprint(blocks).items():
            then = extra.get(name)
            if then != now:
                raise CheckpointError(
                    f"{path} was written with {name} {then}, this fit has {now}; resumed, it "
                    "would not give the same weights: use the same, or load the model and fit it"
                )

    def _restore_worker_state(self, state, resumed):
        """Returns the state with the worker states that this fit starts from."""
        owner, worker_states = self.master.owner(), state.worker_states
        if worker_states and not resumed and state.owner != owner:
            log.warning(
                "workers start without the worker states of the last fit, which are of another "
                "master (%s, now %s)",
                state.owner,
                owner,
            )
            worker_states = ()
        if resumed and len(worker_states) not in (0, self.workers.size):
            raise CheckpointError(
                f"the checkpoint holds the states of {len(worker_states)} workers, this fit needs "
                f"{self.workers.size}"
            )
        codec = getattr(self.master, "codec", None)
        keeps_back = codec is not None and codec.coder(1).state_arrays()
        if resumed and state.rounds and not worker_states and keeps_back:
            log.warning(
                "the checkpoint holds no residuals of its workers' codec %s: what they had "
                "yet to send is lost, so the fit is not the one that was interrupted",
                codec,
            )
        if worker_states:
            worker_states = redistribute_worker_states(
                worker_states, self.workers.size, self.master.averages_messages
            )
        return replace(state, worker_states=worker_states, owner=owner)

    def _due(self, state, heard):
        """Returns the DueEvents of completed rounds that listeners have not been told of."""
        every, updates = self.marks.validate, heard["iteration"]
        ended = state.starts_epoch and heard["epoch"] < state.epoch
        if not state.iteration:
            return DueEvents(evaluation=self.marks.first and updates < 0)
        if every is None:
            return DueEvents(ended, ended)
        return DueEvents(state.iteration // every > max(0, updates) // every, ended)

    def _events(self, blocks, state, epochs, transform, extra, due):
        """Returns an iterator over the events of the fit: RoundDone, EpochDone ..."""
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
            extra.update(self.fingerprint(blocks))
            reason = f"workers do not reach each other, so the driver averages: {lost}"
            log.warning("%s", reason)
            state = replace(state, worker_states=(), place=self.place(blocks))
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
