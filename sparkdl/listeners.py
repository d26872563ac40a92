"""Listeners to a fit, what they are told, and the History that a fit returns."""

from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.progress_bar import ProgressBar
from sparkdl.training.reporting.reports import (
    EpochReport,
    FitPlan,
    Restart,
    RoundReport,
    ValidationReport,
    WorkerFigures,
)

__all__ = [
    "EpochReport",
    "FitPlan",
    "History",
    "Listener",
    "ProgressBar",
    "Restart",
    "RoundReport",
    "ValidationReport",
    "WorkerFigures",
]
