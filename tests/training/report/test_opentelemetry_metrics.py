"""A reader of OpenTelemetry's SDK gets the figures of the History."""

import sys

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import Gauge, InMemoryMetricReader, Sum

from sparkdl.errors import UnsupportedError
from sparkdl.training.report.meters import METERS
from sparkdl.training.report.opentelemetry_metrics import OpenTelemetryMetrics
from tests.training.report import fits
from tests.training.report.test_prometheus_endpoint import fit, replay


@pytest.fixture
def reader():
    return InMemoryMetricReader()


@pytest.fixture
def listener(reader):
    provider = MeterProvider([reader], shutdown_on_exit=False)
    yield OpenTelemetryMetrics(provider)
    provider.shutdown()


def read(reader):
    """Returns {name: metric} in sparkdl's scope."""
    [resource] = reader.get_metrics_data().resource_metrics
    [scope] = resource.scope_metrics
    assert scope.scope.name == "sparkdl"
    return {metric.name: metric for metric in scope.metrics}


def values(metric):
    """Returns {sorted attributes: number}."""
    points = metric.data.data_points
    return {tuple(sorted(point.attributes.items())): point.value for point in points}


@pytest.mark.slow
def test_figures_of_a_fit_are_those_of_the_history(reader, listener):
    history = fit(listener)
    found = read(reader)
    last = history.rounds[-1]
    assert values(found["sparkdl.loss"]) == {(): last.loss}
    assert values(found["sparkdl.update"]) == {(): last.iteration}
    assert values(found["sparkdl.rounds"]) == {(): len(history.rounds)}
    assert values(found["sparkdl.examples"]) == {(): sum(r.examples for r in history.rounds)}
    figures = history.epochs[-1].validation.figures()
    expected = {(("figure", name),): value for name, value in figures.items()}
    assert values(found["sparkdl.validation"]) == expected


def test_seconds_of_each_worker_are_those_of_the_history(reader, listener):
    history = fits.history()
    replay(listener, history)
    found = values(read(reader)["sparkdl.worker_seconds"])
    for rank, figures in enumerate(history.by_worker()):
        for part in ("reading", "compute", "averaging"):
            seconds = found[(("part", part), ("worker", str(rank)))]
            assert seconds == pytest.approx(getattr(figures, part))
    assert len(found) == 6


def test_counters_are_sums_that_only_grow(reader, listener):
    fit(listener, epochs=1)
    found = read(reader)
    for meter in METERS:
        metric = found.get(f"sparkdl.{meter.name}")
        if metric is None:
            continue  # nothing was counted
        assert isinstance(metric.data, Sum if meter.grows else Gauge), meter.name
        assert not meter.grows or metric.data.is_monotonic
        assert (metric.unit, metric.description) == (meter.unit, meter.text)
    assert {"sparkdl.round_seconds", "sparkdl.phase_seconds", "sparkdl.restarts"} <= {*found}


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'sparkdl-hadoop\[opentelemetry\]'"):
        OpenTelemetryMetrics()
