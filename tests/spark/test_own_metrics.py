"""Metrics of a user's own on Spark equal those of one process, for all kinds of data."""

import threading

import pytest

from sparkdl.errors import ConfigError
from sparkdl.spark import SparkNetwork
from sparkdl.training.evaluation import Classification
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.reporting.early_stopping import EarlyStopping
from tests.spark.networks import arrays, data, plain
from tests.support.bus import stages_of_jobs
from tests.training.evaluation.own_metrics import METRICS, ErrorRate, Unsendable, broken, f2

DRIVER = ParameterAveraging(aggregation="driver", workers=2, batch_size_per_worker=10)
MASTERS = {"driver": DRIVER, "in step": AllReduceSGD(workers=2, batch_size_per_worker=10)}


def frame(spark):
    rows = [(x.tolist(), int(y)) for x, y in zip(*data(60), strict=True)]
    return spark.createDataFrame(rows, ["features", "label"]).repartition(3)


def rdd(spark):
    return frame(spark).rdd


KINDS = {"DataFrame": frame, "RDD": rdd, "source": lambda _: arrays(60)}


def of_a_notebook(lock=None):
    """Returns a class that only its code is known of, as one of a notebook."""

    class Rate(Classification):
        def figures(self):
            return {"rate": 1 - self.accuracy, "lock": float(lock is None)}

    return Rate


@pytest.mark.parametrize("kind", KINDS)
def test_an_evaluation_has_them(kind, spark):
    net = SparkNetwork(spark, plain())
    metrics = METRICS | {"mine": of_a_notebook(), "closure": lambda y, p, n=3.5: n}
    alone = net.network.evaluate(data(60), metrics=metrics).figures()
    found = net.evaluate(KINDS[kind](spark), metrics=metrics).figures()
    assert found == pytest.approx(alone) and found["mine/lock"] == 1 and found["closure"] == 3.5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("master", MASTERS)
def test_a_fit_has_them(master, kind, spark):
    net = SparkNetwork(spark, plain(), MASTERS[master])
    stopping = EarlyStopping("validation f2", mode="max", patience=9)
    given = KINDS[kind](spark)
    options = {"metrics": METRICS, "listeners": [stopping]}
    history = net.fit(given, 2, validation=given, **options)
    alone = Network(net.conf, net.network.state).evaluate(data(60), metrics=METRICS).figures()
    assert history.epochs[-1].validation.figures() == pytest.approx(alone, rel=1e-5)
    values = [report.validation.figures()["f2"] for report in history.epochs]
    assert stopping.best == max(values)


def test_records_held_out_have_them(spark):
    net = SparkNetwork(spark, plain(), MASTERS["in step"])
    history = net.fit(frame(spark), 1, validation_split=0.3, metrics=[ErrorRate, f2])
    figures = history.epochs[0].validation.figures()
    assert figures["ErrorRate"] == pytest.approx(1 - figures["accuracy"]) and figures["f2"] >= 0


WRONG = {
    "no pickle": ([Unsendable], r"metrics\['Unsendable'\] must travel to other processes"),
    "a lock": (
        {"mine": of_a_notebook(threading.Lock())},
        r"metrics\['mine'\] must travel to other processes, but cannot be pickled: .*lock",
    ),
    "a known name": ({"loss": f2}, "metrics must have names that evaluations do not have yet"),
    "a text": (["f2"], "metrics must be a subclass of Evaluation"),
}


@pytest.mark.parametrize("use", ["fit", "evaluate"])
@pytest.mark.parametrize("case", WRONG)
def test_it_is_named_before_any_job(case, use, spark, sc):
    metrics, says = WRONG[case]
    net, given = SparkNetwork(spark, plain()), frame(spark)
    options = {"validation": given} if use == "fit" else {}

    def call():
        with pytest.raises(ConfigError, match=says):
            getattr(net, use)(given, metrics=metrics, **options)

    assert not stages_of_jobs(sc, call)


def test_a_failure_is_named(spark):
    net, given = SparkNetwork(spark, plain()), frame(spark)
    with pytest.raises(ConfigError, match=r"metrics\['broken'\] raised KeyError: 'threshold'"):
        net.evaluate(given, metrics=[broken])
    with pytest.raises(ConfigError, match=r"metrics\['two'\]: predictions must have shape"):
        net.evaluate(given, metrics={"two": Classification(2)})
