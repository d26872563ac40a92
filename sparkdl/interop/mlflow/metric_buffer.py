"""Metrics that wait to be sent, many in one request."""

import logging
import math
import re
import time

MOST = 1000  # metrics that MLflow takes in one request
MOST_WAITING = 100_000  # while a server does not answer
UNKNOWN = re.compile(r"[^\w\-. :/]")  # letters that MLflow takes in no name

log = logging.getLogger(__name__)


class MetricBuffer:
    """Sends the metrics of a run now and then, so that short rounds wait for no server.

    A server that does not answer ends no fit: a warning says so, and the metrics wait.

    Parameters
    ----------
    mlflow : module
    client : MlflowClient
    run_id : str
    seconds : float
        Between two requests at least.
    """

    def __init__(self, mlflow, client, run_id, seconds):
        self.mlflow, self.client, self.run_id = mlflow, client, run_id
        self.seconds, self.due = seconds, time.monotonic() + seconds
        self.waiting, self.lost = [], 0

    def add(self, scalars, step):
        """Keeps {name: number} of an update; a number that is not finite is left out."""
        now = int(time.time() * 1000)
        for name, value in scalars.items():
            if math.isfinite(value):
                name = UNKNOWN.sub("_", name)
                self.waiting.append(self.mlflow.entities.Metric(name, float(value), now, step))
        if time.monotonic() >= self.due:
            self.send()

    def send(self):
        """Sends all that waits, as far as the server takes it."""
        try:
            while self.waiting:
                self.client.log_batch(self.run_id, metrics=self.waiting[:MOST])
                del self.waiting[:MOST]
        except self.mlflow.MlflowException as error:
            self.lost += max(0, len(self.waiting) - MOST_WAITING)
            self.waiting = self.waiting[-MOST_WAITING:]
            counts = f"{len(self.waiting)} metrics wait, {self.lost} are lost"
            log.warning("MLflow has not taken what it was sent: %s; %s", error, counts)
        self.due = time.monotonic() + self.seconds
