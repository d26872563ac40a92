"""Prometheus' own parser reads the figures of the History."""

import sys
import urllib.request
from contextlib import closing
from dataclasses import replace

import numpy as np
import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.training.network import Network
from sparkdl.training.report.prometheus_endpoint import PrometheusEndpoint
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.lambda_listener import LambdaListener
from sparkdl.training.reporting.reports import Restart
from sparkdl.training.workers.this_process import ThisProcess
from tests.training.report import fits
from tests.training.report.fits import CONF
from tests.training.reports import plan

X = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
WORKERS = fits.history().rounds[0].by_worker
DATA = X, (X[:, 0] > 0).astype(int)


def scrape(url):
    """Returns {(name, sorted labels): number}, as Prometheus reads them."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        text = answer.read().decode()
    families = text_string_to_metric_families(text)
    samples = [sample for family in families for sample in family.samples]
    found = {(s.name, *sorted(s.labels.items())): s.value for s in samples}
    assert len(found) == len(samples)
    return found


def of(name, **labels):
    return (f"sparkdl_{name}", *sorted(labels.items()))


def fit(*listeners, epochs=2, **options):
    options |= {"validation": DATA, "workers": ThisProcess(), "listeners": listeners}
    return Network(CONF).fit(DATA, epochs, **options)


def replay(endpoint, history):
    """Sends a made-up fit of two workers to a listener."""
    fit_plan = plan(conf=CONF, history=history)
    endpoint.on_fit_start(fit_plan)
    for report in history.rounds:
        endpoint.on_round(report, None)
    return fit_plan


@pytest.mark.slow
def test_figures_of_a_fit_are_those_of_the_history():
    seen = []
    with closing(PrometheusEndpoint()) as endpoint:
        watch = LambdaListener(on_round=lambda *_: seen.append(scrape(endpoint.url)))
        history = fit(endpoint, watch)
        end = scrape(endpoint.url)
    for found, report in zip(seen, history.rounds, strict=True):
        assert found[of("loss")] == report.loss
        assert found[of("update")] == report.iteration and found[of("epoch")] == report.epoch
        rate = CONF.optimizer.rate_at(report.iteration - 1, report.epoch)
        assert found[of("learning_rate")] == rate and found[of("running")] == 1
        assert found[of("examples_per_second")] == report.examples_per_second
    assert end[of("rounds_total")] == len(history.rounds)
    assert end[of("examples_total")] == sum(report.examples for report in history.rounds)
    figures = history.epochs[-1].validation.figures()
    assert {name: end[of("validation", figure=name)] for name in figures} == figures
    assert end[of("running")] == 0 and end[of("fits_total", end="done")] == 1
    assert end[of("restarts_total")] == 0


@pytest.mark.slow
def test_figures_of_each_worker_are_those_of_the_history():
    history = fits.history()
    more = [one._replace(sent=1 << rank, memory=300 << rank) for rank, one in enumerate(WORKERS)]
    history.rounds = [replace(one, by_worker=tuple(more)) for one in history.rounds]
    with closing(PrometheusEndpoint()) as endpoint:
        replay(endpoint, history)
        found = scrape(endpoint.url)
    workers = history.by_worker()
    assert len(workers) == 2
    for rank, figures in enumerate(workers):
        assert found[of("worker_examples_total", worker=str(rank))] == figures.examples
        for part in ("reading", "compute", "averaging"):
            seconds = found[of("worker_seconds_total", worker=str(rank), part=part)]
            assert seconds == pytest.approx(getattr(figures, part))
        assert found[of("worker_sent_bytes_total", worker=str(rank))] == figures.sent
        assert found[of("worker_memory_bytes", worker=str(rank))] == figures.memory
    for part, seconds in history.times().items():
        assert found[of("round_seconds_total", part=part)] == pytest.approx(seconds)
    for phase, seconds in history.phases.items():
        assert found[of("phase_seconds", phase=phase)] == seconds
    assert found[of("workers")] == 2


@pytest.mark.slow
def test_rounds_that_were_lost_are_counted_apart():
    history = History()
    with closing(PrometheusEndpoint()) as endpoint:
        fit_plan = replay(endpoint, fits.history(epochs=1, restart=False))
        restart = Restart(epoch=0, round=1, lost=2, workers=1, reason="one was killed")
        history.restarts.append(restart)
        endpoint.on_restart(restart)
        endpoint.on_round(fit_plan.history.rounds[1], None)
        found = scrape(endpoint.url)
    assert found[of("restarts_total")] == 1 and found[of("lost_rounds_total")] == 2
    assert found[of("rounds_total")] == 4


@pytest.mark.slow
def test_counters_go_on_in_the_next_fit_and_failures_are_counted():
    def fail(*_):
        raise ValueError("a bug")

    with closing(PrometheusEndpoint()) as endpoint:
        rounds = len(fit(endpoint, epochs=1).rounds)
        with pytest.raises(ValueError, match="a bug"):
            fit(endpoint, LambdaListener(on_epoch=fail), epochs=1)
        found = scrape(endpoint.url)
    assert found[of("rounds_total")] == 2 * rounds
    assert found[of("fits_total", end="done")] == found[of("fits_total", end="failed")] == 1


@pytest.mark.slow
def test_a_figure_that_is_not_finite_is_left_out():
    made = fits.history(epochs=1, rounds=1, restart=False)
    with closing(PrometheusEndpoint()) as endpoint:
        replay(endpoint, made)
        assert of("loss") in scrape(endpoint.url)
        object.__setattr__(made.rounds[0], "loss", float("nan"))
        endpoint.on_round(made.rounds[0], None)
        assert of("loss") not in scrape(endpoint.url)


@pytest.mark.slow
def test_memory_is_the_driver_s_and_others_cannot_reach_the_port():
    with closing(PrometheusEndpoint()) as endpoint:
        found = scrape(endpoint.url)
        mine = [c for c in psutil.Process().net_connections() if c.status == psutil.CONN_LISTEN]
        port = int(endpoint.url.split(":")[2].split("/")[0])
        assert {c.laddr.ip for c in mine if c.laddr.port == port} == {"127.0.0.1"}
    memory = psutil.Process().memory_info().rss
    assert found[("process_resident_memory_bytes",)] == pytest.approx(memory, rel=0.2)


@pytest.mark.slow
def test_a_port_that_is_taken_is_named():
    with closing(PrometheusEndpoint()) as endpoint:
        port = int(endpoint.url.split(":")[2].split("/")[0])
        with pytest.raises(UnsupportedError, match=rf"Endpoint\.port must be one .*, got {port}"):
            PrometheusEndpoint(port)
    with closing(PrometheusEndpoint(port)):
        pass  # the first endpoint has released it


@pytest.mark.parametrize("port", [-1, "80", 65536])
def test_options_are_checked(port):
    with pytest.raises(
        ConfigError, match=r"PrometheusEndpoint\.port must be an integer from 0 to 65535"
    ):
        PrometheusEndpoint(port)


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'sparkdl-hadoop\[prometheus\]'"):
        PrometheusEndpoint()
