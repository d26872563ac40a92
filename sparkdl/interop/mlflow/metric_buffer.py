"""Buffer of metrics, sent in batches."""

import logging
import math
import re
import time

MOST = 1000  # metrics per request to MLflow
MOST_WAITING = 100_000  # while the server does not answer
UNKNOWN = re.compile(r"[^\w\-. :/]")  # characters that MLflow does not allow in names

log = logging.getLogger(__name__)


class MetricBuffer:
    """Sends the metrics of a run at intervals, so that short rounds do not wait for the server.

    If the server does not answer, the fit continues with a warning, and the metrics wait.

    Parameters
    ----------
    mlflow : module
    client : MlflowClient
    run_id : str
    seconds : float
        Shortest time between two requests.
    """

    def __init__(self, mlflow, client, run_id, seconds):
        self.mlflow, self.client, self.run_id = mlflow, client, run_id
        self.seconds, self.due = seconds, time.monotonic() + seconds
        self.waiting, self.lost = [], 0

    def add(self, scalars, step):
        """Adds {name: number} of an update, skipping numbers that are not finite."""
        now = int(time.time() * 1000)
        for name, value in scalars.items():
            if math.isfinite(value):
                name = UNKNOWN.sub("_", name)
                self.waiting.append(self.mlflow.entities.Metric(name, float(value), now, step))
        if time.monotonic() >= self.due:
            self.send()

    def send(self):
        """Sends all waiting metrics, as far as the server accepts them."""
        try:
            while self.waiting:
                self.client.log_batch(self.run_id, metrics=self.waiting[:MOST])
                del self.waiting[:MOST]
        except self.mlflow.MlflowException as error:
            self.lost += max(0, len(self.waiting) - MOST_WAITING)
            self.waiting = self.waiting[-MOST_WAITING:]
            counts = f"{len(self.waiting)} metrics wait, {self.lost} are lost"
            log.warning("MLflow did not accept the metrics: %s; %s", error, counts)
        self.due = time.monotonic() + self.seconds
