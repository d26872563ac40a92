"""A listener that keeps one model on disk: the newest, or the best."""

import re
from dataclasses import replace
from os import PathLike
from typing import Any

from sparkdl.errors import require
from sparkdl.training.reporting.monitor import Monitor
from sparkdl.training.reporting.reports import EpochReport, FitPlan
from sparkdl.training.saving.manifest import as_text, refuse_to_destroy
from sparkdl.training.saving.model_directory import save_model

# As in Keras's "model-{epoch:02d}-{val_loss:.2f}".
FIELD = re.compile(r"\{(epoch|batch|loss|accuracy|val_\w+)(:[^{}]*)?\}")
CURE = "there is one model, which the next one replaces; Checkpoints keeps those of several epochs"


class ModelCheckpoint(Monitor):
    """Writes the model after each epoch, or each time that a figure is the best one yet.

    It is a model to load and use, and replaces the one before. Checkpoints, an option of `fit`,
    keeps several, with all that a fit needs to go on.

    Parameters
    ----------
    path : str or Path
        Of the model, local or a URI; `Network.load` reads it. It is the same for all epochs: one
        with fields as {epoch} is refused.
    monitor, mode
        As of Monitor; of use with `save_best_only`.
    save_best_only : bool
        Whether a model that is no better than the one that this fit, or the one that it resumes,
        has written is not written.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        monitor: str = "validation loss",
        save_best_only: bool = False,
        mode: str = "auto",
    ) -> None:
        super().__init__(monitor, mode)
        self.path, self.save_best_only = path, save_best_only
        require(self, "path", isinstance(path, str | PathLike), "a path")
        fields = FIELD.search(str(path))
        require(self, "path", fields is None, "a path without fields in braces", CURE)
        self.best: float | None = None
        self.counters = ("best",) if save_best_only else ()

    def on_fit_start(self, plan: FitPlan) -> None:
        """Raises CheckpointError for a path that cannot have a model, or has anything else."""
        refuse_to_destroy(as_text(self.path))
        if self.save_best_only:
            super().on_fit_start(plan)
        self._conf, self.best, self.steering = plan.conf, None, plan.steering

    def on_epoch(self, report: EpochReport, state: Any) -> None:
        if self.save_best_only:
            super().on_epoch(report, state)
        else:
            self._write(state)

    def on_validation(self, report: Any, state: Any) -> None:
        if self.save_best_only:
            super().on_validation(report, state)

    def watch(self, value: float, state: Any) -> None:
        if self.is_better(value, self.best):
            self.best = value
            self._write(state)

    def _write(self, state):
        state = self.steering.steer(state)  # at the rates that a fit would go on with
        save_model(self.path, self._conf, replace(state, worker_states=(), owner=""))
