"""The supervisor as a state machine: groups are lost at any message, move, stop, are interrupted or
asked for their state. Each block counts once per epoch; each epoch is reported once.

Groups are models here; real ones are killed in test_supervisor.py.
"""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from sparkdl.errors import WorkerError
from sparkdl.training.reporting.events import EpochDone, RestartDone, RoundDone
from sparkdl.training.reporting.steering import Steering
from sparkdl.training.resident import supervisor
from sparkdl.training.resident.fit_setup import FitSetup
from sparkdl.training.resident.metrics import WorkerMetrics
from sparkdl.training.resident.schedule import BlockSchedule
from sparkdl.training.resident.worker_group import LostWorker
from sparkdl.training.saving.state import TrainState
from sparkdl.training.workers.base import MORE_SLOTS
from tests.training.master_table import MASTERS

# A failing case is reported as it is; shrinking takes longer than a test may.
SETTINGS = settings(max_examples=100, stateful_step_count=40, phases=[Phase.generate])
MASTER = MASTERS["averaging by peers"].master
NOTHING = np.zeros(0, np.float32)
MESSAGES = "report", "launch", "device", "joined", "halt", "request_state", "finish"
HARMS = st.sampled_from([MORE_SLOTS, MORE_SLOTS, "the state is due", "report", *MESSAGES])


class ModelGroup:
    """Workers that count how often they trained each block, in place of weights."""

    def __init__(self, machine, workers, blocks, shared, validation):
        machine.lose_at("launch")
        machine.groups.append(self)
        self.lose_at, self.ahead, self.shared = machine.lose_at, machine.ahead, shared
        self.size, self.at, self.states = shared.schedule.workers, shared.state, {}
        self.wanted, self.last, self.stops, self.told_to_stop = set(), None, 0, False

    def gather(self, kind, key=None):
        self.lose_at(kind)
        if kind == "report":
            return self.train(key)
        return [[b"cpu"]] * self.size

    def train(self, rounds):
        before, part = self.at, self.shared.part(self.at)
        counts = before.params.copy()
        counts[[n for n in part.blocks if n is not None]] += 1
        self.at = state = replace(part.after(before, before.iteration + 1), params=counts)
        assert state.rounds == rounds and not self.stops
        wanted = state.rounds in self.wanted or state.rounds == self.last
        if wanted or self.shared.over(state) or self.shared.is_snapshot(before, state):
            self.states[state.rounds] = {"params": counts}
        sizes = [0 if n is None else self.shared.schedule.sizes[n] for n in part.blocks]
        return [[WorkerMetrics(examples=n, iteration=state.iteration).vector()] for n in sizes]

    def snapshot(self, rounds):
        return self.states.get(rounds)

    def begun(self):
        """Returns the last round that a worker has begun, which may be ahead of its reports."""
        state = self.at
        for _ in range(self.ahead()):
            waits = self.shared.steered and state.starts_epoch and state is not self.at
            if self.shared.over(state) or waits:
                break
            state = self.shared.part(state).after(state, state.iteration + 1)
        return state.rounds

    def halt(self):
        self.lose_at("halt")
        self.last = self.begun()
        return self.last

    def request_state(self):
        self.lose_at("request_state")
        rounds = self.begun()
        self.wanted.add(rounds)
        return rounds

    def finish(self):
        self.lose_at("finish")
        assert self.shared.over(self.at) or self.at.rounds == self.last or self.told_to_stop
        return ()

    def stop(self):
        self.stops += 1

    def tell(self, meta):
        assert self.shared.steered and meta["rounds"] == self.at.rounds
        self.told_to_stop = meta["stop"]

    def limit(self, seconds):
        """Does nothing, since there is no waiting."""


class Supervised(RuleBasedStateMachine):
    """A fit, and the invariants of its events."""

    def __init__(self):
        super().__init__()
        self.groups, self.losses, self.rounds, self.epochs = [], 0, [], 0
        self.lost_next, self.is_due, self.reason, self.over = None, False, None, False
        self.patches = [
            patch.object(supervisor, "WorkerGroup", partial(ModelGroup, self)),
            patch.object(supervisor, "SnapshotClock", lambda *_: self.clock()),
        ]
        for each in self.patches:
            each.start()

    def clock(self):
        def is_due(rounds):
            due, self.is_due = self.is_due, False
            return due

        nothing = lambda _: None  # noqa: E731
        return SimpleNamespace(is_due=is_due, wait_for=nothing, restart=nothing)

    def ahead(self):
        return self.workers_ahead

    def lose_at(self, message):
        if self.lost_next == message:
            self.lost_next, self.losses = None, self.losses + 1
            raise LostWorker(WorkerError(f"worker 1: lost at {message}"))

    @initialize(
        sizes=st.lists(st.integers(1, 4), min_size=3, max_size=14),
        workers=st.integers(1, 4),
        epochs=st.integers(2, 6),
        every=st.integers(1, 6),
        ahead=st.integers(1, 3),
        steered=st.booleans(),
        max_restarts=st.integers(0, 8),
    )
    def begin(self, sizes, workers, epochs, every, ahead, steered, max_restarts):
        self.sizes, self.wanted_epochs, self.room = sizes, epochs, workers
        self.workers_ahead, self.max_restarts = ahead, max_restarts
        self.steering = Steering(steered)
        counts = np.zeros(len(sizes), np.float32)
        shared = FitSetup(
            conf=None,
            master=replace(MASTER, max_restarts=max_restarts, rescale_every=1),
            state=TrainState(params=counts, buffers=NOTHING, slots=NOTHING),
            epochs=epochs,
            schedule=BlockSchedule(sizes=tuple(sizes), workers=workers, seed=3),
            snapshot_every_rounds=(every,),
            steered=steered,
        )
        self.workers = SimpleNamespace(
            size=workers,
            room=lambda: self.room,
            reason_to_move=lambda: self.reason,
            move=lambda reason: setattr(self, "reason", None),
        )
        self.supervisor = supervisor.Supervisor(
            self.workers, None, shared, {}, steering=self.steering
        )
        self.events = self.supervisor.events()

    @rule(before=HARMS, room=st.integers(1, 4), events=st.integers(1, 3))
    def go_on(self, before, room, events):
        if before in MESSAGES:
            self.lost_next = before
        elif before == MORE_SLOTS:
            self.room, self.reason = room, MORE_SLOTS
        elif before == "the state is due":
            self.is_due = True
        for _ in range(events):
            if not self.over:
                self.take_event()

    def take_event(self):
        try:
            event = next(self.events)
        except StopIteration:
            self.end()
        except WorkerError as error:
            assert self.losses == self.max_restarts + 1, error
            self.over = True
        else:
            self.hear(event)

    def hear(self, event):
        if isinstance(event, RoundDone):
            self.rounds.append(event.report)
            assert event.report.examples <= sum(self.sizes)
        elif isinstance(event, EpochDone):
            self.epochs += 1
            assert event.state.epoch == self.epochs
            assert (event.state.params == self.epochs).all(), "a block was left out, or doubled"
            examples = [one.examples for one in self.rounds if one.epoch == self.epochs - 1]
            assert sum(examples) == sum(self.sizes)
        elif isinstance(event, RestartDone):
            restart = event.restart
            assert restart.workers == max(1, min(self.workers.size, self.room))
            assert 0 <= restart.lost <= len(self.rounds) and self.epochs < self.wanted_epochs
            self.rounds = self.rounds[: len(self.rounds) - restart.lost]
            assert restart.epoch >= self.epochs or self.losses == self.max_restarts + 1

    def end(self):
        assert all(group.stops == 1 for group in self.groups)
        assert self.supervisor.reported_rounds == self.supervisor.shared.state.rounds
        assert len(self.rounds) == self.supervisor.shared.state.rounds
        if not self.steering.stopped:
            assert self.epochs == self.wanted_epochs
        self.over = True

    @precondition(lambda self: len(self.rounds) > 12)
    @rule()
    def stop(self):
        self.steering.stop()

    @precondition(lambda self: not self.over and len(self.rounds) > 12)
    @rule()
    def interrupt(self):
        self.events.close()
        self.rounds += [event.report for event in self.steering.unheard]
        known = [event.state for event in self.steering.unheard if event.state is not None]
        state = known[-1] if known else self.supervisor.shared.state
        assert state.rounds <= len(self.rounds)
        assert all(group.stops == 1 for group in self.groups)
        self.over = True

    def teardown(self):
        try:
            self.lost_next = self.reason = None
            while not self.over and hasattr(self, "events"):
                self.take_event()
        finally:
            for each in self.patches:
                each.stop()


@pytest.mark.slow
def test_whatever_happens_each_record_counts_once_and_each_epoch_is_told_once():
    run_state_machine_as_test(Supervised, settings=SETTINGS)
