"""Ctrl-C in a search: no job remains, and the next fit finishes the trials under way."""

import os
import signal
import threading

import pytest

from sparkdl.tune import Search
from tests.spark.slow import Slow
from tests.support.waiting import until
from tests.tune.spaces import GOOD, POOR, data, define, states, study_of


def test_trials_under_way_are_run_again_by_the_next_fit(sc, tmp_path):
    slow, study = Slow(str(tmp_path), seconds=0.5), study_of(GOOD, POOR)

    def interrupt():
        until(lambda: len(slow.processes()) > 1)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    options = {"epochs": 40, "batch_size": 10, "device": "cpu"}
    with pytest.raises(KeyboardInterrupt):
        Search(sc, define, study, **options).fit(data(transform=slow), 2)
    assert until(lambda: not list(sc.statusTracker().getActiveJobsIds()))
    assert states(study) == ["FAIL", "FAIL", "WAITING", "WAITING"]
    Search(sc, define, study, **options).fit(data(), 2)
    assert states(study) == ["FAIL", "FAIL", "COMPLETE", "COMPLETE"]
    assert {trial.params["rate"] for trial in study.trials[2:]} == {GOOD, POOR}
