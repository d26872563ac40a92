"""A listener that exports the figures of a fit to OpenTelemetry."""

from functools import partial
from typing import Any

from sparkdl.errors import needs_package
from sparkdl.training.report.meter_listener import MeterListener


class OpenTelemetryMetrics(MeterListener):
    """Offers the metrics of fits to OpenTelemetry, whose SDK exports them as configured.

    Names are those of PrometheusEndpoint, with dots: `sparkdl.loss`, `sparkdl.rounds`,
    `sparkdl.worker_seconds` with the attributes `worker` and `part` ... They are observed when a
    reader of the provider asks, so a round only has to count.

    Parameters
    ----------
    provider : MeterProvider, optional
        None: OpenTelemetry's own, which `opentelemetry.metrics.set_meter_provider` sets.

    Raises
    ------
    UnsupportedError
        There is no OpenTelemetry: pip install 'sparkdl-hadoop[opentelemetry]'.

    Examples
    --------
    >>> net.fit(data, epochs=10, listeners=[OpenTelemetryMetrics()])
    """

    def __init__(self, provider: Any = None) -> None:
        super().__init__()
        self._package = load_package()
        meter = (provider or self._package.get_meter_provider()).get_meter("sparkdl")
        for kind, _ in self._meters.readings():
            make = meter.create_observable_counter if kind.grows else meter.create_observable_gauge
            observe = [partial(self._observe, kind)]
            make(f"sparkdl.{kind.name}", observe, unit=kind.unit, description=kind.text)

    def _observe(self, kind, options):
        """Yields the values of a meter when a reader asks for them."""
        for labels, value in self._meters.values[kind.name].copy().items():
            yield self._package.Observation(value, dict(zip(kind.labels, labels, strict=True)))


def load_package() -> Any:
    """Returns opentelemetry.metrics; raises UnsupportedError, with the cure, if it is missing."""
    cure = "pip install 'sparkdl-hadoop[opentelemetry]'"
    with needs_package("OpenTelemetryMetrics", "opentelemetry-api", cure):
        from opentelemetry import metrics
    return metrics
