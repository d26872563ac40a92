"""Listeners to a fit, their reports, and the History that a fit returns."""

from sparkdl.training.report.dashboard import Dashboard
from sparkdl.training.report.html_report import HtmlReport
from sparkdl.training.report.inspector import Inspector
from sparkdl.training.report.opentelemetry_metrics import OpenTelemetryMetrics
from sparkdl.training.report.prometheus_endpoint import PrometheusEndpoint
from sparkdl.training.report.run_log import RunLog
from sparkdl.training.report.tensorboard import TensorBoard
from sparkdl.training.reporting.early_stopping import EarlyStopping
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.inspection import Inspection, LayerReport, WrongExample
from sparkdl.training.reporting.lambda_listener import LambdaListener
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.monitor import Monitor
from sparkdl.training.reporting.progress_bar import ProgressBar
from sparkdl.training.reporting.reduce_rate import ReduceLROnPlateau
from sparkdl.training.reporting.reports import (
    EpochReport,
    FitPlan,
    Restart,
    RoundReport,
    ValidationReport,
    WorkerFigures,
)
from sparkdl.training.reporting.steering import Steering, StopTraining
from sparkdl.training.reporting.terminate_on_signal import TerminateOnSignal
from sparkdl.training.reporting.termination import (
    TerminateOnMaxLoss,
    TerminateOnTarget,
    TerminateOnTime,
)
from sparkdl.training.saving.model_checkpoint import ModelCheckpoint

__all__ = [
    "Dashboard",
    "EarlyStopping",
    "EpochReport",
    "FitPlan",
    "History",
    "HtmlReport",
    "Inspection",
    "Inspector",
    "LambdaListener",
    "LayerReport",
    "Listener",
    "ModelCheckpoint",
    "Monitor",
    "OpenTelemetryMetrics",
    "ProgressBar",
    "PrometheusEndpoint",
    "ReduceLROnPlateau",
    "Restart",
    "RoundReport",
    "RunLog",
    "Steering",
    "StopTraining",
    "TensorBoard",
    "TerminateOnMaxLoss",
    "TerminateOnSignal",
    "TerminateOnTarget",
    "TerminateOnTime",
    "ValidationReport",
    "WorkerFigures",
    "WrongExample",
]
