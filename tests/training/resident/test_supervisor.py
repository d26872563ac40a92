"""Killed, stopped or failing workers: the fit continues or fails clearly, and cleans up."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from functools import partial

import psutil
import pytest

from sparkdl.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    DivergedError,
    ShapeError,
    WorkerError,
)
from sparkdl.nn import Adam
from sparkdl.training.network import Network
from sparkdl.training.reporting.early_stopping import EarlyStopping
from sparkdl.training.reporting.lambda_listener import LambdaListener
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.reduce_rate import ReduceLROnPlateau
from sparkdl.training.reporting.steering import StopTraining
from sparkdl.training.saving.checkpoint import Checkpoints
from sparkdl.training.workers.base import MORE_SLOTS
from sparkdl.training.workers.local import LocalWorkers
from tests.support.waiting import has_ended, until
from tests.training import tasks
from tests.training.master_table import MASTERS, RESIDENT
from tests.training.models import assert_equal
from tests.training.problems import Partitions, whole_net

COUNTS = [41, 0, 3, 15, 1]
CONF = whole_net(optimizer=Adam(learning_rate=0.01))
QUICK = {"timeout": 10.0, "stall_timeout": 30.0, "snapshot_every": 2}


class Transformed(Partitions):
    def __init__(self, transform, counts=COUNTS):
        super().__init__(counts)
        self.transform = transform


class Harm(Listener):
    """Sends a signal to a worker's process once, after some rounds.

    Rounds of `data` have at least two batches. Until then the next round is slowed, so that the
    signal arrives in the middle of it.
    """

    def __init__(self, workers, rounds, what=signal.SIGKILL, rank=1):
        self.workers, self.rounds, self.what, self.rank = workers, rounds, what, rank
        self.restarts = []
        self.brake = tempfile.NamedTemporaryFile()  # noqa: SIM115, the harm closes it
        self.data = Transformed(tasks.Slowly(self.brake.name, quick=2 * rounds - 1))

    def on_round(self, report, state):
        self.rounds -= 1
        if not self.rounds:
            os.kill(self.workers._processes[self.rank].process.pid, self.what)
            self.brake.close()

    def on_restart(self, restart):
        self.restarts.append(restart)


@pytest.fixture(scope="module")
def workers():
    with LocalWorkers(2) as workers:
        yield workers


def fit(workers, name="averaging by peers", data=None, epochs=2, listeners=(), **options):
    master = replace(MASTERS[name].master, **QUICK | options.pop("master", {}))
    network = Network(CONF)
    data = Partitions(COUNTS) if data is None else data
    history = network.fit(data, epochs, master, workers, listeners=listeners, **options)
    return network.state, history


def one_of_each():
    """Returns one row name for each resident master."""
    return {type(MASTERS[name].master): name for name in reversed(RESIDENT)}.values()


KEEP_BACK = [name for name in RESIDENT if MASTERS[name].keeps_back]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*one_of_each(), *KEEP_BACK}))
def test_a_fit_goes_on_when_a_worker_is_killed(name, workers):
    lose_a_worker(name, workers, signal.SIGKILL)


ASKED = {"snapshot_every": 1000, "snapshot_seconds": 1e-6}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["averaging by peers", "gradients of 1 bit", "servers, at once"])
def test_states_that_the_driver_asks_for_are_gone_back_to(name, workers):
    harm, states = Harm(workers, rounds=3), []
    harm.on_round = partial(note_state, states, harm.on_round)
    state, history = fit(workers, name, harm.data, listeners=[harm], master=ASKED)
    (restart,) = history.restarts
    assert 0 <= restart.lost <= 2
    in_epoch = len(states) // 2
    assert any(states[: in_epoch - 1])  # the last one comes in any case
    if MASTERS[name].same_bits:
        assert_equal(state, fit(workers, name)[0])


def note_state(states, function, report, state):
    states.append(state is not None)
    function(report, state)


@pytest.mark.slow
def test_a_stop_while_a_worker_is_lost_is_saved_for_those_that_are_left(
    workers, monkeypatch, tmp_path
):
    harm, name = Harm(workers, rounds=3), "averaging by peers, changes encoded"
    monkeypatch.setattr(workers, "room", lambda: 1)
    options = {"epochs": 3, "checkpoints": Checkpoints(path=tmp_path, every_rounds=1000)}
    listeners = [harm, LambdaListener(on_round=stop_once_lost(harm))]
    state, history = fit(workers, name, harm.data, listeners=listeners, **options)
    (restart,) = history.restarts
    assert restart.workers == len(state.worker_states) == 1 and state.epoch < 3
    with LocalWorkers(1) as one:
        resumed, _ = fit(one, name, harm.data, resume=tmp_path, **options)
    assert resumed.epoch == 3 and resumed.rounds > state.rounds


def stop_once_lost(harm):
    def stop(report, state):
        if harm.rounds <= 0:
            raise StopTraining

    return stop


@pytest.mark.slow
def test_a_fit_with_a_store_goes_on_when_a_worker_is_killed(workers):
    lose_a_worker("elastic around a store", workers, signal.SIGKILL)


@pytest.mark.slow
def test_a_steered_fit_goes_on_when_a_worker_is_killed(workers):
    """Workers wait for the driver's decision; replacements get the same rates."""
    lower = ReduceLROnPlateau("loss", factor=0.5, patience=1, mode="max")
    options = {"epochs": 4, "master": {"snapshot_every": 100}}
    harm = Harm(workers, rounds=7)
    state, history = fit(workers, data=harm.data, listeners=[harm, lower], **options)
    assert history.restarts == harm.restarts and len(harm.restarts) == 1
    assert state.rate_factor < 1
    assert_equal(state, fit(workers, listeners=[lower], **options)[0])


@pytest.mark.slow
def test_a_fit_goes_on_when_a_worker_is_stopped(workers):
    lose_a_worker("averaging by peers", workers, signal.SIGSTOP)


def lose_a_worker(name, workers, what):
    harm = Harm(workers, rounds=3, what=what)
    state, history = fit(workers, name, harm.data, listeners=[harm], validation=Partitions([9]))
    (restart,) = history.restarts
    assert harm.restarts == [restart] and restart.workers == 2 and 0 <= restart.lost <= 2
    assert "worker 1" in restart.reason or "rank 1" in restart.reason
    assert [epoch.examples for epoch in history.epochs] == [60, 60]
    assert [epoch.validation.examples for epoch in history.epochs] == [9, 9]
    assert [report.round for report in history.rounds] == list(range(len(history.rounds) // 2)) * 2
    assert "2 workers go on from epoch" in str(history)
    if MASTERS[name].same_bits:
        assert_equal(state, fit(workers, name)[0])


@pytest.mark.slow
def test_a_fit_goes_on_in_a_round_that_was_cut(workers, monkeypatch):
    """Training resumes from the last common state; other workers repeat the round."""
    thirds = type("Thirds", (Listener,), {"every_updates": (3,)})()
    options = {"name": "all-reduce", "epochs": None, "updates": 14}
    harm = Harm(workers, rounds=3)
    state, history = fit(workers, data=harm.data, listeners=[thirds, harm], **options)
    assert history.restarts == harm.restarts and len(harm.restarts) == 1
    assert_equal(state, fit(workers, listeners=[thirds], **options)[0])
    monkeypatch.setattr(workers, "room", lambda: 1)
    harm = Harm(workers, rounds=3)
    state, history = fit(workers, data=harm.data, listeners=[thirds, harm], **options)
    assert state.iteration == 14 and history.restarts[0].workers == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["averaging by peers", "gradients of 1 bit", "elastic"])
def test_a_fit_goes_on_with_fewer_workers(name, workers, monkeypatch):
    monkeypatch.setattr(workers, "room", lambda: 1)
    harm = Harm(workers, rounds=3)
    state, history = fit(workers, name, harm.data, listeners=[harm])
    assert len(state.worker_states) == (1 if MASTERS[name].keeps_back else 0)
    assert harm.restarts[0].workers == 1
    assert [epoch.examples for epoch in history.epochs] == [60, 60], "each record once an epoch"
    assert [report.workers for report in history.rounds][-1] == 1
    assert state.epoch == 2 and history.rounds[-1].round + 1 == history.rounds[-1].rounds_in_epoch


SPREADS = (0, 2, MORE_SLOTS)  # lost rounds, workers, reason


def in_step():
    """Returns a listener that workers wait for after each epoch, so they are not far ahead."""
    return ReduceLROnPlateau("loss", patience=99)


def assert_spread(name, state, history, expected, calm):
    """Asserts that restarted workers give the result of undisturbed ones."""
    assert {(one.lost, one.workers, one.reason) for one in history.restarts} == {SPREADS}
    assert [epoch.examples for epoch in history.epochs] == [60] * len(history.epochs)
    if MASTERS[name].same_updates:
        places = [(report.epoch, report.round) for report in calm.rounds]
        assert [(report.epoch, report.round) for report in history.rounds] == places
    if MASTERS[name].same_bits:
        assert_equal(state, expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", RESIDENT)
def test_workers_that_begin_anew_on_more_slots_give_the_same_weights(name, workers, monkeypatch):
    options = {"validation": Partitions([9]), "epochs": 2, "listeners": [in_step()]}
    expected, calm = fit(workers, name, **options)
    monkeypatch.setattr(workers, "reason_to_move", lambda: MORE_SLOTS)
    state, history = fit(workers, name, **options)
    assert_spread(name, state, history, expected, calm)
    assert [epoch.validation.examples for epoch in history.epochs] == [9, 9]


@pytest.mark.slow
@pytest.mark.parametrize("wish", ["steered", "stopped", "updates"])
def test_what_listeners_wish_holds_where_workers_begin_anew(wish, workers, monkeypatch):
    lower = [ReduceLROnPlateau("loss", factor=0.5, patience=1, mode="max")]
    stop = [EarlyStopping("loss", patience=1, mode="max")]
    options = {
        "steered": {"epochs": 4, "listeners": lower},
        "stopped": {"epochs": 9, "listeners": stop},
        "updates": {"epochs": None, "updates": 14, "listeners": [in_step()]},
    }[wish]
    expected, calm = fit(workers, "all-reduce", **options)
    monkeypatch.setattr(workers, "reason_to_move", lambda: MORE_SLOTS)
    state, history = fit(workers, "all-reduce", **options)
    assert history.restarts
    assert state.rate_factor == expected.rate_factor and history.end_reason == calm.end_reason
    assert_equal(state, expected)


@pytest.mark.slow
def test_workers_change_29_times_in_30_epochs(workers, monkeypatch):
    """As in Horovod's test of elastic training; only losses count as restarts."""

    class Change(Listener):
        due = 0  # on a busy machine a group may end a round late, in the epoch of the next change

        def on_round(self, report, state):
            self.due += report.round == 0 and report.epoch < 29

        def on_restart(self, restart):
            self.due -= 1

    options, change = {"epochs": 30, "master": {"max_restarts": 0}}, Change()
    expected, calm = fit(workers, **options)
    monkeypatch.setattr(workers, "reason_to_move", lambda: MORE_SLOTS if change.due else None)
    state, history = fit(workers, listeners=[in_step(), change], **options)
    assert len(history.restarts) == 29
    assert_spread("averaging by peers", state, history, expected, calm)


def test_an_epoch_that_has_not_been_evaluated_still_is(workers):
    """A worker is killed after the last round, before it has evaluated its share."""

    class Late(Harm):
        def on_round(self, report, state):
            if report.round + 1 == report.rounds_in_epoch:
                super().on_round(report, state)

    harm = Late(workers, rounds=1, rank=0)
    validation = Transformed(tasks.Held(harm.brake.name), [9])
    _, history = fit(workers, epochs=1, listeners=[harm], validation=validation)
    assert harm.restarts[0].lost == 0
    assert history.epochs[0].validation.examples == 9


@pytest.mark.slow
def test_after_so_many_restarts_the_fit_fails_and_says_why(workers):
    harm = Harm(workers, rounds=1)
    with pytest.raises(WorkerError, match=r"^worker 1 \(process \d+\): ended with exit code -9"):
        fit(workers, data=harm.data, listeners=[harm], master={"max_restarts": 0})
    assert not harm.restarts


@pytest.mark.slow
def test_restarts_are_counted_and_each_is_logged_once(workers, caplog):
    class Again(Harm):
        def on_restart(self, restart):
            super().on_restart(restart)
            self.rounds = 1

    harm = Again(workers, rounds=1)
    with pytest.raises(WorkerError, match=r"-9 .*\(2 restarts did not help\)"):
        fit(workers, data=harm.data, listeners=[harm], epochs=50, master={"max_restarts": 2})
    assert len(harm.restarts) == 2
    logged = [record.getMessage() for record in caplog.records]
    assert [logged.count(str(restart)) for restart in harm.restarts] == [1, 1]


ADDED = {DivergedError: "; there is no checkpoint to go back to"}


@pytest.mark.parametrize(
    "error", [DataError, ConfigError, ShapeError, CheckpointError, DivergedError]
)
def test_an_error_of_ours_comes_out_as_itself_without_a_restart(error, workers):
    with pytest.raises(error, match=f"^in a transform{ADDED.get(error, '')}$"):
        fit(workers, data=Transformed(tasks.Raise(error)))


def test_an_error_of_a_class_of_the_user_is_of_the_nearest_of_ours(workers):
    with pytest.raises(DataError, match="^in a transform, with a lock\na note$") as caught:
        fit(workers, data=Transformed(tasks.Raise(tasks.Locked)))
    assert caught.value.__notes__ == ["a note"]


def test_any_other_error_names_the_worker(workers):
    with pytest.raises(WorkerError) as caught:
        fit(workers, data=Transformed(tasks.Raise(ZeroDivisionError)))
    assert re.fullmatch("worker [01]: ZeroDivisionError: in a transform", str(caught.value))
    assert "in __call__" in caught.value.__notes__[0]


def test_validation_that_cannot_be_used_is_named(workers):
    data = Partitions([4])
    data.features[2, 1] = float("nan")
    with pytest.raises(DataError, match="record 2: features must be finite, got nan"):
        fit(workers, validation=data)


@pytest.mark.slow
def test_a_listener_that_raises_leaves_workers_that_work(workers):
    class Stop(Listener):
        def on_round(self, report, state):
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fit(workers, listeners=[Stop()])
    pids = [worker.process.pid for worker in workers._processes]
    assert fit(workers, data=Partitions(COUNTS))[1].epochs[1].examples == 60
    assert pids == [worker.process.pid for worker in workers._processes], "they had halted"


SCRIPT = """
from tests.training.resident.test_supervisor import *
if __name__ == "__main__":
    workers = LocalWorkers(2)
    class Tell(Listener):
        def on_round(self, report, state):
            print(*(w.process.pid for w in workers._processes), flush=True)
    fit(workers, data=Transformed(tasks.Slowly(__file__)), epochs=1000, listeners=[Tell()])
"""


def test_workers_evaluate_before_the_first_update_where_epochs_are_evaluated_too(workers):
    test = Partitions([9], seed=5)
    options = {"epochs": 1, "validation": test, "validate_first": True}
    _, history = fit(workers, **options)
    [first], [epoch] = history.validations, history.epochs
    assert first.iteration == 0 and epoch.validation.examples == 9
    assert first.validation.loss == pytest.approx(Network(CONF).score(test), rel=1e-5)


@pytest.mark.slow
def test_workers_end_when_the_driver_is_killed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = os.environ | {"PYTHONPATH": os.getcwd()}
    driver = subprocess.Popen([sys.executable, script], env=environment, stdout=subprocess.PIPE)
    pids = list(map(int, driver.stdout.readline().split()))
    assert len(pids) == 2
    driver.kill()
    driver.wait()
    driver.stdout.close()
    until(lambda: all(map(has_ended, pids)))


@pytest.mark.slow
@pytest.mark.parametrize("name", one_of_each())
def test_a_fit_leaves_no_file_socket_or_thread_in_its_processes(name, workers):
    fit_twice(name, workers)
    time.sleep(0.5)  # threads that are ending may take a while
    before, deadline = held(workers), time.monotonic() + 30
    fit_twice(name, workers)
    while not (after := held(workers)) <= before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert after <= before


def fit_twice(name, workers):
    for _ in range(2):
        fit(workers, name, validation=Partitions([9]))


def held(workers):
    """Returns the numbers of open files and threads of each process."""
    counts = Counter()
    for process in (psutil.Process(worker.process.pid) for worker in workers._processes):
        counts[process.pid, "files"] = process.num_fds()
        counts[process.pid, "threads"] = process.num_threads()
    return counts
