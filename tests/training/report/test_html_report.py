"""The listener writes the page of a fit while the fit runs."""

import re

import numpy as np
import pytest

from sparkdl.errors import ConfigError, DataError, DivergedError
from sparkdl.nn import Momentum, NetworkConf
from sparkdl.training.network import Network
from sparkdl.training.report import html_report
from sparkdl.training.report.html_report import HtmlReport
from sparkdl.training.reporting.lambda_listener import LambdaListener
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.workers.local import LocalWorkers
from tests.training.report.fits import CONF
from tests.training.report.test_page import cells, data_of

X = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
REFRESH = re.compile(r'<meta http-equiv="refresh" content="(\d+)">')


def fit(listener, *others, conf=CONF, x=X):
    labels = (X[:, 0] > 0).astype(int)
    options = {"listeners": [listener, *others], "workers": LocalWorkers(1)}
    return Network(conf).fit((x, labels), 3, **options)


@pytest.mark.slow
def test_the_page_is_there_from_the_first_round_on(tmp_path):
    path, seen = tmp_path / "fit.html", []

    def look(report, state):
        text = path.read_text()
        seen.append((len(data_of(text)["runs"][0]["rounds"]["loss"]), REFRESH.findall(text)))

    history = fit(HtmlReport(path, seconds=1e-9), LambdaListener(on_round=look))
    assert len(seen) == len(history.rounds) and seen[0] == (1, ["1"]), "not at once"
    text = path.read_text()
    assert not REFRESH.findall(text), "the last one is read once"
    [run] = data_of(text)["runs"]
    assert len(run["rounds"]["loss"]) == len(history.rounds)
    assert "learning rate" in run["rounds"] and run["weights"]


@pytest.mark.slow
def test_a_fit_is_over_when_it_is(tmp_path):
    path, seen = tmp_path / "fit.html", []
    look = LambdaListener(on_round=lambda *_: seen.append(ended(path)))
    fit(HtmlReport(path, seconds=1e-9), look)
    assert set(seen) == {"still running"} and ended(path) == "its epochs"
    with pytest.raises(DivergedError):
        fit(HtmlReport(path), conf=steep(), x=X * 1e30)
    assert "training has diverged" in ended(path)


def ended(path):
    return cells(path.read_text(), "Fits")[-1]


def test_pages_are_written_as_rarely_as_it_takes_long(tmp_path, monkeypatch):
    times, written = iter(range(1000)), []
    monkeypatch.setattr(html_report.time, "monotonic", lambda: float(next(times)))
    monkeypatch.setattr(html_report, "write_report", lambda *_: written.append(1))
    listener = HtmlReport(tmp_path / "fit.html", seconds=2)
    for _ in range(60):
        listener.on_round(None, None)
    assert len(written) == 2, "a page took a second: 50 s pass to the next"


@pytest.mark.slow
def test_a_fit_that_fails_has_its_page(tmp_path):
    with pytest.raises(DivergedError):
        fit(HtmlReport(tmp_path / "fit.html"), conf=steep(), x=X * 1e30)
    assert data_of((tmp_path / "fit.html").read_text())["runs"]


@pytest.mark.slow
def test_a_fit_that_another_listener_refuses_leaves_the_page_of_the_last_one(tmp_path):
    path = tmp_path / "fit.html"
    fit(HtmlReport(path))
    before = path.read_text()
    with pytest.raises(ConfigError, match="not with me"):
        fit(HtmlReport(path), Refusing())
    assert path.read_text() == before


class Refusing(Listener):
    def on_fit_start(self, plan):
        raise ConfigError("not with me")


def steep():
    return NetworkConf(input_shape=(4,), layers=CONF.layers, optimizer=Momentum(learning_rate=9))


@pytest.mark.parametrize("seconds", [0, -1, "1", None, True])
def test_seconds_are_checked(seconds):
    with pytest.raises(ConfigError, match=r"HtmlReport\.seconds must be a number > 0, got"):
        HtmlReport("fit.html", seconds=seconds)


def test_a_path_that_cannot_have_the_page_is_refused_before_the_first_round(tmp_path):
    rounds = []
    count = LambdaListener(on_round=lambda report, state: rounds.append(report))
    with pytest.raises(DataError, match="must be the path of a file, got a folder"):
        fit(HtmlReport(tmp_path), count)
    assert not rounds and not list(tmp_path.iterdir())
