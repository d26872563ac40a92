"""Listener that logs a fit to MLflow."""

import logging
import tempfile
from pathlib import Path
from typing import Any

from sparkdl.errors import require
from sparkdl.interop.mlflow.fit_run import FitRun
from sparkdl.interop.mlflow.metric_buffer import MetricBuffer
from sparkdl.interop.mlflow.model_flavor import log_model
from sparkdl.interop.mlflow.package import load_package
from sparkdl.training.network import Network
from sparkdl.training.report.page import write_report
from sparkdl.training.report.run_listener import RunListener
from sparkdl.training.report.scalars import evaluation_scalars, round_scalars
from sparkdl.training.reporting.monitor import is_number

REPORT = "report.html"

log = logging.getLogger(__name__)


class MLflowLogger(RunListener):
    """Logs a fit to MLflow: options, metrics by update, the report's page, the network.

    Metrics have the names of TensorBoard's, and as step the update after which they hold:
    "training/loss", "training/learning_rate", "validation/accuracy", "seconds/compute" ... Seconds
    of the whole fit by phase are "phases/compute" and its like. Numbers that are not finite are
    left out. Rounds that were lost with a worker stay, and their repetitions have the same steps.

    An active run (`mlflow.start_run()`) takes the fit; a further fit in it becomes a nested run.
    Without one the fit gets its own run, which ends as FINISHED, as FAILED after an error, or as
    KILLED by Ctrl-C. A fit that resumes an earlier one by the same logger, such as
    `fit(resume=True)`, continues its run. If the server stops answering, the fit continues with a
    warning, and metrics wait.

    Parameters
    ----------
    run_name : str, optional
        Name of a new run. None: MLflow chooses one.
    report : bool
        Whether the page of the fit, `report.html`, is logged at its end.
    model : bool
        Whether the trained network is logged as the MLflow model "model", unless the fit failed.
    seconds : float
        Shortest time between two requests, so that short rounds do not wait for the server.

    Attributes
    ----------
    run_id : str or None
        Of the last fit.

    Raises
    ------
    UnsupportedError
        There is no MLflow: pip install 'sparkdl-hadoop[mlflow]'.

    Examples
    --------
    >>> mlflow.set_tracking_uri("http://127.0.0.1:5000")
    >>> net.fit(data, epochs=10, listeners=[MLflowLogger()])
    """

    def __init__(
        self,
        run_name: str | None = None,
        report: bool = True,
        model: bool = True,
        seconds: float = 2.0,
    ) -> None:
        super().__init__(run_name or "Fit")
        self.run_name, self.report, self.model, self.seconds = run_name, report, model, seconds
        require(self, "seconds", is_number(seconds) and seconds >= 0, "a number >= 0")
        self.run_id: str | None = None
        self._mlflow = load_package()
        self._fit: Any = None
        self._plan: Any = None
        self._buffer: Any = None

    def on_fit_start(self, plan: Any) -> None:
        super().on_fit_start(plan)
        self._plan = plan
        fit = FitRun(self._mlflow, plan, self.run_name, self.run_id)
        try:
            fit.describe(plan)
        except BaseException as error:
            fit.end(error)
            raise
        self._fit, self.run_id = fit, fit.run_id
        self._buffer = MetricBuffer(self._mlflow, fit.client, self.run_id, self.seconds)

    def on_round(self, report: Any, state: Any) -> None:
        super().on_round(report, state)
        self._buffer.add(round_scalars(self._plan, report), report.iteration)

    def on_validation(self, report: Any, state: Any) -> None:
        super().on_validation(report, state)
        self._buffer.add(evaluation_scalars(report.validation), report.iteration)

    def on_epoch(self, report: Any, state: Any) -> None:
        super().on_epoch(report, state)
        if report.validation is not None:
            update = self._last_update(self._plan.history)
            self._buffer.add(evaluation_scalars(report.validation), update)

    def on_restart(self, restart: Any) -> None:
        history = self._plan.history
        self._buffer.add({"training/restarts": len(history.restarts)}, self._last_update(history))

    def on_fit_end(self, history: Any) -> None:
        super().on_fit_end(history)
        fit, self._fit = self._fit, None
        error = self._plan.steering.error
        try:
            self._log_end(fit, history, error)
        except self._mlflow.MlflowException as refusal:  # the trained network matters more
            log.warning("MLflow did not accept the end of the fit: %s", refusal)
        finally:
            fit.end(error)

    def _log_end(self, fit, history, error):
        seconds = {f"phases/{phase}": took for phase, took in history.phases.items()}
        self._buffer.add(seconds, self._last_update(history))
        self._buffer.send()
        if history.end_reason is not None:
            fit.client.set_tag(self.run_id, "sparkdl.end_reason", history.end_reason[:500])
        if self.report:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, REPORT)
                write_report(path, [self._run], self.title)
                fit.client.log_artifact(self.run_id, str(path))
        if self.model and error is None and self._run.state is not None:
            state = self._plan.steering.ending(self._run.state)
            log_model(Network(self._plan.conf, state), run_id=self.run_id)

    def _last_update(self, history):
        return history.rounds[-1].iteration if history.rounds else self._plan.iteration
