"""A listener that saves models: the newest, the best, or one per epoch."""

from dataclasses import replace
from os import PathLike
from typing import Any

from sparkdl.config.calls import refuse_unknown_options
from sparkdl.errors import require
from sparkdl.training.reporting.monitor import VALIDATION, Monitor, is_number
from sparkdl.training.reporting.reports import EpochReport, FitPlan
from sparkdl.training.saving.manifest import as_text, refuse_to_destroy
from sparkdl.training.saving.model_directory import save_model
from sparkdl.training.saving.path_template import PathTemplate


class ModelCheckpoint(Monitor):
    """Saves the model after each epoch, or whenever a metric is the best so far.

    The model is for use, and replaces an earlier one at the same path. Checkpoints, an option of
    `fit`, keeps several with all that a fit needs to resume, and deletes older ones.

    Parameters
    ----------
    path : str or Path
        Path of the model, local or a URI; `Network.load` reads it. Fields in braces are filled in
        as in Keras, "model-{epoch:02d}-{validation_loss:.2f}": the epoch, from 1, and the newest
        metrics, as `monitor` names them, with _ for a space; nan if not known yet. Models of other
        names are then kept, even if they are no longer the best.
    monitor, mode
        As of Monitor; of use with `save_best_only`.
    save_best_only : bool
        Whether to save only a model that is better than the one that this fit, or the fit that it
        resumes, has saved.

    Examples
    --------
    >>> keeping = ModelCheckpoint("models/{epoch:02d}-{validation_loss:.2f}")
    >>> net.fit(data, epochs=10, validation=test, listeners=[keeping])
    """

    @refuse_unknown_options
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
        self._template = PathTemplate("ModelCheckpoint.path", as_text(path))
        self._numbers: dict[str, float] = {}
        self.best: float | None = None
        self.counters = ("best",) if save_best_only else ()

    def on_fit_start(self, plan: FitPlan) -> None:
        """Begins a fit.

        Raises
        ------
        ConfigError
            The path has a field that is not a metric of the fit.
        CheckpointError
            The path cannot have a model, or has anything else.
        """
        self._template = PathTemplate("ModelCheckpoint.path", as_text(self.path))
        self._numbers = {"epoch": plan.epoch + 1}
        if plan.figures is not None:
            self._check_fields(plan.figures)
        refuse_to_destroy(self._template.fill(self._numbers))
        if self.save_best_only:
            super().on_fit_start(plan)
        self._conf, self.best, self.steering = plan.conf, None, plan.steering

    def on_epoch(self, report: EpochReport, state: Any) -> None:
        self._note(report, {"loss": report.loss})
        if self.save_best_only:
            super().on_epoch(report, state)
        else:
            self._write(state)

    def on_validation(self, report: Any, state: Any) -> None:
        self._note(report, {})
        if self.save_best_only:
            super().on_validation(report, state)

    def watch(self, value: float, state: Any) -> None:
        if self.is_better(value, self.best):
            self.best = value
            self._write(state)

    def _note(self, report, numbers):
        """Records the numbers of an event for fields of the path."""
        self._numbers |= {"epoch": report.epoch + 1} | numbers
        if self._template.fields and report.validation is not None:
            found = report.validation.figures().items()
            figures = {f"{VALIDATION}{name}": value for name, value in found if is_number(value)}
            self._check_fields(("loss", *figures))
            self._numbers |= {field_of(name): value for name, value in figures.items()}

    def _check_fields(self, figures):
        cure = "; give the fit validation data" if figures == ("loss",) else ""
        self._template.check(["epoch", *map(field_of, figures)], cure)

    def _write(self, state):
        state = self.steering.steer(state)  # with the rates that a fit would continue with
        path = self._template.fill(self._numbers)
        save_model(path, self._conf, replace(state, worker_states=(), owner=""))


def field_of(figure: str) -> str:
    """Returns the name of a figure in fields of a path."""
    return figure.replace(" ", "_")
