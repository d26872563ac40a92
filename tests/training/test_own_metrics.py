"""Fits with metrics of a user's own: under each kind of master, monitored, logged, refused."""

import numpy as np
import pytest

from sparkdl.data import Arrays
from sparkdl.errors import ConfigError
from sparkdl.training.network import Network
from sparkdl.training.report.run_log import RunLog
from sparkdl.training.reporting.early_stopping import EarlyStopping
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.reduce_rate import ReduceLROnPlateau
from sparkdl.training.saving.model_checkpoint import ModelCheckpoint
from sparkdl.training.workers.this_process import ThisProcess
from tests.training.evaluation.own_metrics import METRICS, ErrorRate, Unsendable, broken, f2
from tests.training.evaluation.test_metrics import CONF, draw
from tests.training.master_table import MASTERS
from tests.training.problems import branches

DRIVER = MASTERS["averaging by the driver"].master
KINDS = {type(row.master): name for name, row in reversed(MASTERS.items())}


EACH = METRICS | {"out": "output_1"}


class Keep(Listener):
    """Keeps what `net.evaluate` gives with the weights of each epoch."""

    def __init__(self):
        self.seen = []

    def on_epoch(self, report, state):
        alone = Network(CONF, state).evaluate(draw(60, 1), metrics=EACH)
        self.seen.append((report.validation.figures(), alone.figures()))


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS.values())
def test_every_master_has_them(name):
    keep = Keep()
    options = {"validation": draw(60, 1), "metrics": EACH, "listeners": [keep]}
    history = Network(CONF).fit(draw(), 2, MASTERS[name].master, **options)
    assert len(keep.seen) == 2
    for found, alone in keep.seen:
        assert found == pytest.approx(alone, rel=1e-5)
    assert history.epochs[-1].validation.figures() == keep.seen[-1][0]


def fit(listeners, metrics, **options):
    options = {"validation": draw(60, 1)} | options
    network = Network(CONF)
    workers = ThisProcess()
    return network.fit(draw(), 4, DRIVER, workers, metrics=metrics, listeners=listeners, **options)


def worse(labels, predictions):
    """Falls from one evaluation to the next."""
    worse.value -= 1
    return worse.value


@pytest.mark.slow
def test_listeners_monitor_them(tmp_path):
    worse.value = 0
    best = ModelCheckpoint(tmp_path / "best", "validation worse", True, "max")
    listeners = [
        EarlyStopping("validation worse", mode="max", patience=2),
        ReduceLROnPlateau("validation worse", mode="max", patience=1),
        best,
        RunLog(tmp_path / "log"),
    ]
    history = fit(listeners, [worse])
    values = [report.validation.figures()["worse"] for report in history.epochs]
    assert values == [-1.0, -2.0, -3.0] and best.best == -1.0
    assert history.rounds[-1].rate_factor < 1
    assert history.to_pandas()["validation worse"].tolist() == values
    lines = (tmp_path / "log" / "fit.jsonl").read_text().splitlines()
    assert any('"worse":-3.0' in line for line in lines)
    history.report(tmp_path / "page.html")
    assert "worse" in (tmp_path / "page.html").read_text()


@pytest.mark.slow
def test_by_updates_too():
    history = fit([], [f2], validate_every=3, validate_first=True)
    values = [report.validation.figures()["f2"] for report in history.validations]
    assert len(values) > 2 and np.isfinite(values).all()
    assert f"f2 {values[-1]:.4f}" in str(history)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [EarlyStopping, ReduceLROnPlateau])
def test_nobody_guesses_which_way_is_better(kind):
    says = rf"{kind.__name__}.mode must be 'min' or 'max' for 'validation f2', a metric of your own"
    with pytest.raises(ConfigError, match=says):
        fit([kind("validation f2")], [f2])
    with pytest.raises(ConfigError, match=r"monitor must be one of \['loss', .*'validation f2'\]"):
        fit([kind("validation f3")], [f2])
    fit([kind("validation all/accuracy", patience=9)], METRICS)
    fit([kind("validation output_1/accuracy", patience=9)], ["output_1"])


def test_a_metric_that_fails_interrupts_the_fit():
    with pytest.raises(ConfigError, match=r"metrics\['broken'\] raised KeyError"):
        fit([], [broken])


REFUSED = {
    "no data": ({"validation": None}, [f2], "metrics must be left out where there is no validat"),
    "a function": (
        {"evaluate": lambda *_: None},
        [f2],
        "metrics must be left out where evaluate= is given",
    ),
    "no pickle": ({}, [Unsendable], r"metrics\['Unsendable'\] must travel to other processes"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_work_is_refused_before_the_fit(case):
    options, metrics, says = REFUSED[case]
    with pytest.raises(ConfigError, match=says):
        fit([], metrics, **options)


class KeepBoth(Listener):
    """Keeps what another network evaluates with the weights of each epoch, in this process."""

    def __init__(self, data, metrics):
        self.given, self.seen = (data, metrics), []

    def on_epoch(self, report, state):
        (data, metrics), network = self.given, Network(branches(), state)
        alone = network.evaluate(data, metrics=metrics).figures()
        own = network.evaluate(data, output="size").figures()
        alone |= {f"second/{name}": value for name, value in own.items()}
        self.seen.append((report.validation.figures(), alone))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["averaging by the driver", "averaging by peers"])
def test_a_second_output_has_the_figures_of_one_process(name):
    rng = np.random.default_rng(0)
    inputs = {"left": rng.normal(size=(60, 2)), "right": rng.normal(size=(60, 3))}
    labels = {"kind": rng.integers(0, 2, 60), "size": rng.normal(size=60)}
    data = Arrays(inputs, labels)
    metrics = {"second": "size", "rate": ErrorRate}
    keep, master = KeepBoth(data, metrics), MASTERS[name].master
    assert master.resident == (name == "averaging by peers")
    options = {"validation": data, "metrics": metrics, "listeners": [keep]}
    Network(branches()).fit(data, 2, master, **options)
    assert len(keep.seen) == 2
    for found, alone in keep.seen:
        assert {"loss", "accuracy", "rate", "second/loss", "second/r2"} <= set(found)
        assert found == pytest.approx(alone, rel=1e-5)
        assert found["second/loss"] == pytest.approx(found["second/mse"], rel=1e-5)
