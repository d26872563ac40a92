"""Executions of trials that get no slot: they say so, and end the search."""

from types import SimpleNamespace

import pytest

from sparkdl.errors import ConfigError, NoSlots
from sparkdl.masters import AllReduceSGD
from sparkdl.tune.candidate import Candidate
from sparkdl.tune.execution import DistributedExecution, LocalExecution, run_locally
from tests.support.held_slots import held_slots, impatient_jobs
from tests.tune.spaces import GOOD, conf_of
from tests.tune.test_trial_task import setup_of

CANDIDATE = Candidate(conf=conf_of(GOOD), epochs=1, batch_size=10)


def test_a_trial_of_one_task_is_watched(sc, monkeypatch, caplog):
    forgotten = []
    progress = SimpleNamespace(secret=b"", forget=forgotten.append)
    execute = LocalExecution(sc, None, None, None, progress, "cpu")
    with impatient_jobs(sc, monkeypatch) as limit, held_slots(sc):
        limit("1s")
        with pytest.raises(NoSlots, match="no task of 'trial 7' has started"):
            execute(7, CANDIDATE)
    assert "no task of 'trial 7' has started" in caplog.text and forgotten == [7]


def test_a_trial_on_all_slots_ends_the_search_too(sc):
    def fit(net, epochs, listeners):
        raise NoSlots("no task has started")

    setup = setup_of(SimpleNamespace(address="", secret=b""))
    master = AllReduceSGD(workers=2, device="cpu")
    with pytest.raises(NoSlots):
        DistributedExecution(sc, None, None, setup, master, fit)(7, CANDIDATE)


def test_trials_that_spark_would_end_as_idle_are_refused():
    python = "spark.python.worker."
    settings = {f"{python}killOnIdleTimeout": "true", f"{python}idleTimeoutSeconds": "90"}
    sc = SimpleNamespace(master="local[2]", _conf=settings)
    with pytest.raises(ConfigError, match="killOnIdleTimeout must be false"):
        run_locally(sc, None, None, None, None, None, None)
