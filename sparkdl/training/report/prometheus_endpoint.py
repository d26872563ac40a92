"""A listener that exports the figures of a fit to Prometheus."""

from typing import Any

from sparkdl.errors import needs_package
from sparkdl.training.report.loopback import HOST, port_error, require_port
from sparkdl.training.report.meter_listener import MeterListener


class PrometheusEndpoint(MeterListener):
    """Serves the metrics of fits at `/metrics`, in the text format that Prometheus scrapes.

    All names begin with `sparkdl_`: `sparkdl_loss`, `sparkdl_learning_rate`,
    `sparkdl_examples_per_second`, `sparkdl_validation{figure="accuracy"}`, `sparkdl_rounds_total`,
    `sparkdl_restarts_total`, `sparkdl_worker_seconds_total{worker="0",part="compute"}` ... Counters
    continue from fit to fit. Rounds that were lost with a worker are counted, and also counted in
    `sparkdl_lost_rounds_total`. `process_resident_memory_bytes` and its like are of the driver.
    Anyone who reaches the port can read the metrics: by default, only this machine. The server ends
    with `close` or with the process.

    Parameters
    ----------
    port : int
        Port to listen on; 0: any free one.
    host : str
        Address to listen on; "0.0.0.0" for all addresses of this machine.

    Attributes
    ----------
    url : str

    Raises
    ------
    UnsupportedError
        The port is taken, or there is no prometheus_client: pip install
        'sparkdl-hadoop[prometheus]'.

    Examples
    --------
    >>> endpoint = PrometheusEndpoint(port=9095)
    >>> net.fit(data, epochs=10, listeners=[endpoint])
    """

    def __init__(self, port: int = 0, host: str = HOST) -> None:
        super().__init__()
        self.port, self.host = port, host
        require_port(self)
        self._package = load_package()
        registry = self._package.CollectorRegistry()
        self._package.ProcessCollector(registry=registry)
        registry.register(self)
        try:
            self._server, self._thread = self._package.start_http_server(port, host, registry)
        except OSError as error:
            raise port_error("PrometheusEndpoint", host, port, error) from error
        self.url = f"http://{host}:{self._server.server_port}/metrics"

    def close(self) -> None:
        """Ends the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def collect(self) -> Any:
        """Yields the families of metrics, as prometheus_client's registry asks each collector."""
        core = self._package.metrics_core
        for meter, readings in self._meters.readings():
            kind = core.CounterMetricFamily if meter.grows else core.GaugeMetricFamily
            family = kind(f"sparkdl_{meter.name}", meter.text, labels=meter.labels)
            for labels, value in readings:
                family.add_metric(labels, value)
            yield family


def load_package() -> Any:
    """Returns prometheus_client; raises UnsupportedError, with the cure, if it is missing."""
    cure = "pip install 'sparkdl-hadoop[prometheus]'"
    with needs_package("PrometheusEndpoint", "prometheus_client", cure):
        import prometheus_client
    return prometheus_client
