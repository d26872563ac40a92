"""Evaluation of a vote of networks, as a Spark job."""

import signal
import sys
from contextlib import nullcontext
from types import ModuleType

import numpy as np
import pytest
from pyspark import cloudpickle

from sparkdl.data import Arrays
from sparkdl.errors import ConfigError
from sparkdl.spark.jobs import one_call
from sparkdl.spark.jobs.interrupts import Interrupt
from sparkdl.spark.records.records import SparkRecords
from sparkdl.tune import vote_evaluation
from tests.ml.frames import values_conf

RECORDS = SparkRecords(Arrays(np.ones((2, 4)), np.ones(2)))


@pytest.fixture
def jobs(monkeypatch):
    """Collects (SIGINT handler, task) of each job instead of running it."""
    found = []

    def results(self, sc, evaluator, task):
        found.append((signal.getsignal(signal.SIGINT), task))
        return ()

    for name in ("add_tag", "remove_tag"):  # there is no SparkContext
        monkeypatch.setattr(one_call, name, lambda *_: None)
    monkeypatch.setattr(vote_evaluation, "job", lambda *_: nullcontext())
    monkeypatch.setattr(vote_evaluation.UnreadRecords, "results", results)
    monkeypatch.setattr(vote_evaluation, "sum_results", lambda *_: None)
    return found


def test_ctrl_c_ends_it_as_it_does_a_fit(jobs):
    """Jupyter replaces pyspark's handler by Python's own, which leaves jobs running."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        vote_evaluation.evaluate(None, values_conf(), RECORDS, None, None, print)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    [(handler, _)] = jobs
    assert isinstance(handler, Interrupt)


def test_a_module_that_the_driver_alone_has_is_named_with_the_cure(jobs, monkeypatch):
    module = ModuleType("only_here")
    exec("def vote(outputs): return outputs", vars(module))
    monkeypatch.setitem(sys.modules, "only_here", module)
    vote_evaluation.evaluate(None, values_conf(), RECORDS, None, module.vote, print)
    [(_, task)] = jobs
    sent = cloudpickle.dumps(task)
    monkeypatch.delitem(sys.modules, "only_here")
    with pytest.raises(ConfigError, match="No module named 'only_here'; send it"):
        cloudpickle.loads(sent)
