"""A trial in this process: its result, its reports, and how it resumes."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from pyspark import TaskContext

from sparkdl.data.batches.batch import Batch
from sparkdl.errors import DivergedError
from sparkdl.spark.gpu_process import dispatch
from sparkdl.spark.jobs.shared_value import LocalValue
from sparkdl.spark.launch.team import WorkerRank
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.workers.this_process import ThisProcess
from sparkdl.tune.candidate import Candidate
from sparkdl.tune.progress import Progress
from sparkdl.tune.reporter import Reporter
from sparkdl.tune.trial_setup import TrialSetup
from sparkdl.tune.trial_task import WHOLE_EPOCH, as_task, run_trial, train
from tests.ml.frames import arrays
from tests.support.cuda.on_host import require_compiler
from tests.support.cuda.spawned import OnHost
from tests.training.models import assert_equal
from tests.tune.spaces import conf_of

EPOCHS = 4
CANDIDATE = Candidate(conf=conf_of(0.1), epochs=EPOCHS, batch_size=10)


def setup_of(progress, **options):
    given = {"transform": None, "validation_transform": None, "validation_split": None}
    given |= {"class_weight": None, "monitor": "validation loss", "mode": "auto"}
    given |= {"patience": None, "min_delta": 0.0, "restore_best_weights": False, "device": "cpu"}
    given |= {"data": Batch.of(*arrays(60)), "validation": Batch.of(*arrays(30))}
    place = {"address": progress.address, "secret": progress.secret}
    return TrialSetup(**given | place | options)


class Judge:
    """Records what is reported; a trial ends once it has trained `most` epochs."""

    def __init__(self, most=EPOCHS + 1, lost=None):
        self.heard, self.most, self.lost = [], most, lost

    def __call__(self, number, step, value):
        self.heard.append((number, step))
        return step < self.most


class Lost(Exception):
    """Stands for the loss of an executor."""


class FragileReporter(Reporter):
    """Raises Lost in place of the report that follows epoch `after`."""

    def __init__(self, setup, number, after):
        super().__init__(setup, number)
        self.after = after

    def report(self, step, value, state):
        if step > self.after:
            raise Lost
        return super().report(step, value, state)


def run(judge=None, candidate=CANDIDATE, **options):
    with Progress(judge or Judge(), "127.0.0.1", 60.0) as progress:
        setup = setup_of(progress, **options)
        with Reporter(setup, 3) as reporter:
            return train(setup, candidate, reporter)


@pytest.mark.slow
def test_its_weights_are_those_of_a_fit_of_the_same_options():
    result, judge = run(), Judge()
    assert_equal(run(judge).state, result.state)
    assert judge.heard == [(3, step) for step in range(1, EPOCHS + 1)]
    options = {"averaging_frequency": WHOLE_EPOCH, "batch_size_per_worker": 10, "workers": 1}
    master = ParameterAveraging(aggregation="driver", device="cpu", **options)
    network = Network(CANDIDATE.conf)
    history = network.fit(arrays(60), EPOCHS, master, ThisProcess(), validation=arrays(30))
    assert_equal(result.state, network.state)
    assert result.value == pytest.approx(history.epochs[-1].validation.loss, rel=1e-6)
    assert not result.pruned


def test_a_pruned_one_ends_after_its_epoch():
    judge = Judge(most=2)
    result = run(judge)
    assert result.pruned and result.state.epoch == 2
    assert judge.heard == [(3, 1), (3, 2)]


@pytest.mark.parametrize("after", [0, 2, EPOCHS], ids=["at the start", "later", "at the end"])
def test_another_task_goes_on_where_a_lost_one_was(after):
    whole, judge = run(), Judge()
    with Progress(judge, "127.0.0.1", 60.0) as progress:
        setup = setup_of(progress)
        if after < EPOCHS:
            with pytest.raises(Lost), FragileReporter(setup, 3, after) as reporter:
                train(setup, CANDIDATE, reporter)
        else:
            with Reporter(setup, 3) as reporter:
                train(setup, CANDIDATE, reporter)
        with Reporter(setup, 3) as reporter:
            assert reporter.state is None if after == 0 else reporter.state.epoch == after
            result = train(setup, CANDIDATE, reporter)
    assert judge.heard == [(3, step) for step in range(1, EPOCHS + 1)]
    assert_equal(result.state, whole.state)
    assert result.value == whole.value


def test_a_lost_one_that_was_pruned_stays_so():
    with Progress(Judge(most=1), "127.0.0.1", 60.0) as progress:
        setup = setup_of(progress)
        for _ in range(2):
            with Reporter(setup, 3) as reporter:
                result = train(setup, CANDIDATE, reporter)
                assert result.pruned and result.state.epoch == 1


def test_it_ends_with_its_best_weights():
    worse = Candidate(conf=conf_of(30.0), epochs=6, batch_size=10)
    judge = Judge(most=99)
    result = run(judge, worse, restore_best_weights=True, patience=2)
    network = Network(worse.conf, result.state)
    assert result.value == pytest.approx(network.evaluate(arrays(30)).loss, rel=1e-5)


def test_held_out_records_are_not_trained_on():
    given = {"validation": None, "validation_split": 0.25}
    split, whole = run(**given), run()
    assert split.state.iteration < whole.state.iteration
    assert np.isfinite(split.value)


def test_a_loss_that_is_not_finite_is_an_error():
    with pytest.raises(DivergedError), np.errstate(all="ignore"):
        run(candidate=Candidate(conf=conf_of(1e30), epochs=3, batch_size=10))


@pytest.mark.slow
def test_a_gpu_is_taken_in_another_process(monkeypatch):
    """The GPU is the host's double; figures come from its process."""
    require_compiler()
    context = SimpleNamespace(resources=dict, partitionId=lambda: 0)
    monkeypatch.setattr(TaskContext, "get", staticmethod(lambda: context))
    monkeypatch.setattr(dispatch, "can_reach_gpu", lambda: True)
    judge = Judge()
    with Progress(judge, "127.0.0.1", 60.0) as progress:
        setup = setup_of(progress, device="cuda", transform=OnHost())
        task = partial(run_trial, setup.secret, LocalValue(setup), LocalValue(CANDIDATE))
        [result] = as_task("cuda", task, WorkerRank(3, 4), iter([3]))
    dispatch.end_idle()
    assert judge.heard == [(3, step) for step in range(1, EPOCHS + 1)]
    expected = run().state
    np.testing.assert_allclose(result.state.params, expected.params, rtol=1e-3, atol=1e-5)
