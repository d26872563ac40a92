"""A listener that writes a fit as TensorBoard's events."""

from os import PathLike
from typing import Any

import numpy as np

from sparkdl.errors import UnsupportedError
from sparkdl.training.report.hyperparameters import hyperparameters
from sparkdl.training.report.scalars import evaluation_scalars, round_scalars
from sparkdl.training.report.tensorboard_events import graph_of, restart_at, summary_of
from sparkdl.training.reporting.listeners import Listener


class TensorBoard(Listener):
    """Writes a fit as TensorBoard's events: scalars, histograms, the graph, hyperparameters.

    Scalars stand at the update after which they hold: "training/loss", "training/learning_rate",
    "training/examples_per_second", "seconds/compute" and its like, "exchange/bytes_sent" of each
    round, "validation/accuracy" and its like of each evaluation. After each epoch each array of
    parameters has a histogram. TensorBoard leaves out rounds that were lost with a worker.

    Parameters
    ----------
    folder : path
        Of the run, on the driver; show it by `tensorboard --logdir` with the folder above it.
    histograms : bool
        Whether to write those of parameters.

    Raises
    ------
    UnsupportedError
        There is no tensorboardX: pip install 'sparkdl-hadoop[tensorboard]'.

    Examples
    --------
    >>> net.fit(data, epochs=10, listeners=[TensorBoard("runs/first")])
    """

    def __init__(self, folder: str | PathLike[str], histograms: bool = True) -> None:
        self.folder, self.histograms = folder, histograms
        self._package = load_package()
        self._writer: Any = None

    def on_fit_start(self, plan: Any) -> None:
        self._plan, self._tags = plan, {}
        self._writer = self._package.SummaryWriter(str(self.folder))
        self._writer.file_writer.add_event(graph_of(plan.conf))

    def on_round(self, report: Any, state: Any) -> None:
        self._write(round_scalars(self._plan, report), report.iteration)

    def on_validation(self, report: Any, state: Any) -> None:
        self._write(evaluation_scalars(report.validation), report.iteration)

    def on_epoch(self, report: Any, state: Any) -> None:
        if report.validation is not None:
            self._write(evaluation_scalars(report.validation), state.iteration)
        if self.histograms:
            self._write_parameters(state)

    def on_restart(self, restart: Any) -> None:
        rounds = self._plan.history.rounds
        last = rounds[-1].iteration if rounds else self._plan.iteration
        self._writer.file_writer.add_event(restart_at(), last + 1)

    def on_fit_end(self, history: Any) -> None:
        if self._writer is not None:  # else another listener has refused the fit
            summary = self._package.summary.hparams(hyperparameters(self._plan), self._tags)
            for part in summary:
                self._writer.file_writer.add_summary(part)
            self._writer.close()

    def _write(self, scalars, update):
        self._tags |= scalars
        self._writer.file_writer.add_summary(summary_of(scalars), update)

    def _write_parameters(self, state):
        for name, array in self._plan.conf.params_layout.views(state.params).items():
            finite = np.asarray(array)[np.isfinite(array)]
            if finite.size:
                self._writer.add_histogram(f"parameters/{name}", finite, state.iteration)


def load_package():
    """Returns tensorboardX; UnsupportedError, which says how to get it, where there is none."""
    try:
        import tensorboardX
    except ImportError as error:
        cure = "pip install 'sparkdl-hadoop[tensorboard]'"
        raise UnsupportedError(f"TensorBoard needs tensorboardX; {cure}") from error
    return tensorboardX
