"""Restarts of a fit over Spark Connect after lost workers; no server is needed."""

from threading import Lock
from types import SimpleNamespace

import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException

from sparkdl.errors import ConfigError, DataError, SparkdlError, WorkerError
from sparkdl.masters import AllReduceSGD
from sparkdl.spark.connect import fit as connect_fit
from sparkdl.spark.connect.fit import run, staying
from sparkdl.spark.connect.stage_fit import FitResult, StageFit, attributes_of
from sparkdl.spark.jobs.error_notes import note_errors
from sparkdl.training.reporting.early_stopping import EarlyStopping
from sparkdl.training.reporting.steering import Steering
from tests.spark.jobs.test_stage_failure import LOST, STAGE, TRACE
from tests.training.reports import plan

SPARK = SimpleNamespace(addTag=str, removeTag=str, interruptTag=str)
RESULT = FitResult("state", None, None, [], None)
LOSS = f"{STAGE}{LOST}"


def noted(error):
    """Returns Spark's message for a stage in which a task raised `error`."""
    with pytest.raises(type(error)) as caught, note_errors():
        raise error
    return f"{STAGE}Traceback\n{caught.value}\n{caught.value.__notes__[-1]}\n"


GONE = noted(WorkerError("worker 0 is gone"))


class Dealt:
    """A DataFrame of dealt records whose stages fail with the given texts in turn, then succeed."""

    def __init__(self, *texts):
        self.texts, self.restarts = list(texts), []

    def mapInArrow(self, function, schema, barrier):
        assert barrier
        self.restarts.append(function.args[0].restarts)
        return self

    def collect(self):
        if self.texts:
            raise PySparkException(message=self.texts.pop(0))
        return [{"place": 0, "piece": cloudpickle.dumps(RESULT)}]


def stage(**options):
    return StageFit(None, None, None, None, AllReduceSGD(**options), 1, {})


WELL = {
    "nothing lost": ({}, [], [3]),
    "an executor": ({}, [LOSS], [3, 2]),
    "as often as may be": ({"max_restarts": 2}, [LOSS, GONE], [2, 1, 0]),
}
ILL = {
    "none may be": ({"max_restarts": 0}, [LOSS], [0], WorkerError, "worker 1: ExecutorLostFail"),
    "once more": (
        {"max_restarts": 1},
        [LOSS, GONE],
        [1, 0],
        WorkerError,
        r"worker 0 is gone \(1 restarts did not help\)",
    ),
    "no loss": ({}, [noted(DataError("record 3"))], [3], DataError, "record 3"),
    "no worker": ({}, ["[A] too few slots"], [3], WorkerError, "together failed .*too few slots"),
    "its own module": (
        {},
        [f"{STAGE}{TRACE}ModuleNotFoundError: No module named 'own'"],
        [3],
        ConfigError,
        r"^worker 1: ModuleNotFoundError: No module named 'own'; send it .*spark\.addArtifact",
    ),
    "interrupted": (
        {},
        ["(org.apache.spark.SparkSQLException) [OPERATION_CANCELED] Operation has been canceled."],
        [3],
        SparkdlError,
        "^workers that train together ended: the job was cancelled on the cluster$",
    ),
    "cancelled": ({}, [f"{STAGE}[SPARK_JOB_CANCELLED]"], [3], SparkdlError, "was cancelled"),
}


@pytest.mark.parametrize("case", WELL)
def test_a_stage_begins_anew_where_a_worker_was_lost(case):
    options, texts, restarts = WELL[case]
    dealt = Dealt(*texts)
    assert run(SPARK, dealt, stage(**options)) == RESULT
    assert dealt.restarts == restarts


@pytest.mark.parametrize("case", ILL)
def test_it_does_so_no_more_often_than_it_may(case):
    options, texts, restarts, kind, message = ILL[case]
    dealt = Dealt(*texts)
    with pytest.raises(kind, match=message) as caught:
        run(SPARK, dealt, stage(**options))
    assert type(caught.value) is kind and dealt.restarts == restarts


def test_the_master_keeps_what_it_was_given():
    assert staying(AllReduceSGD(max_restarts=7)) == (AllReduceSGD(max_restarts=7), None)


class Begun(Exception):
    """Marks that a fit got past the checks of its client."""


def test_data_to_validate_on_need_not_travel(monkeypatch):
    """DataFrames hold a lock of their client before pyspark 4.0 made them picklable."""

    def begin(*values):
        raise Begun

    monkeypatch.setattr(connect_fit, "lasting", begin)
    network = SimpleNamespace(conf=None)
    source = SimpleNamespace(data=Lock(), transform=None)
    for evaluator, kind in (None, Begun), (Lock(), ConfigError):
        on = source, None, evaluator
        with pytest.raises(kind):
            connect_fit.fit(SPARK, network, None, source, 1, on, (), {"listeners": []})


def test_a_listener_goes_to_the_client_without_its_error_and_itself():
    stopping, steering = EarlyStopping("loss", restore_best_weights=True), Steering()
    stopping.on_fit_start(plan(steering=steering, figures=("loss",)))
    steering.error = OSError("of the driver")
    sent = attributes_of(stopping)["steering"]
    assert sent.error is sent.restoring is None
    assert steering.error is not None and steering.restoring is stopping
