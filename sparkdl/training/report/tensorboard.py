"""A listener that writes a fit as TensorBoard events."""

from math import inf
from os import PathLike
from typing import Any

import numpy as np

from sparkdl.config import is_integer
from sparkdl.errors import needs_package, require
from sparkdl.training.report.hyperparameters import hyperparameters
from sparkdl.training.report.run import Run
from sparkdl.training.report.scalars import epoch_scalars, evaluation_scalars, training_scalars
from sparkdl.training.report.tensorboard_events import (
    EventFile,
    bytes_of,
    graph_of,
    images_of,
    restart_at,
    scalars_of_layers,
    summary_of,
)
from sparkdl.training.reporting.listeners import Listener

BINS, HISTOGRAM = 40, 750  # bins of a histogram, and its maximum bytes with a usual name


class TensorBoard(Listener):
    """Writes a fit as TensorBoard's events: scalars, histograms, images, graph, hyperparameters.

    Scalars are logged at the update after which they hold: "training/loss",
    "training/learning_rate" and "training/examples_per_second" of each round; "seconds/compute" and
    its like and "exchange/bytes_sent", sums of each epoch; "validation/accuracy" and its like of
    each evaluation; "update_ratio/dense_1/W" (log10) and "dead_units/dense_1" (a share) of each
    inspection of an Inspector that stands before this listener. Each array of parameters has a
    histogram. At the end, where records are images, "most_wrong/1" and its like are those of the
    last evaluation with the largest losses. TensorBoard leaves out rounds that were lost with a
    worker.

    Parameters
    ----------
    folder : path
        Folder of the run, on the driver; show it with `tensorboard --logdir` and the folder above
        it.
    histograms : bool
        Whether to write histograms of parameters: after the first and the last epoch, and in
        between as `bytes_per_round` allows.
    bytes_per_round : int, optional
        Average growth of the folder per round, in bytes. The scalars of a round take about 120
        bytes; the rest is for epochs' sums and histograms (400 to 700 bytes per array). The graph,
        the first and the last histograms, evaluations and inspections (about 50 bytes per number)
        and images come on top. None: no limit; everything is written after each epoch.

    Raises
    ------
    UnsupportedError
        There is no tensorboardX: pip install 'sparkdl-hadoop[tensorboard]'.

    Examples
    --------
    >>> net.fit(data, epochs=10, listeners=[TensorBoard("runs/first")])
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        histograms: bool = True,
        bytes_per_round: int | None = 200,
    ) -> None:
        self.folder, self.histograms, self.bytes_per_round = folder, histograms, bytes_per_round
        sound = bytes_per_round is None or is_integer(bytes_per_round, 1)
        require(self, "bytes_per_round", sound, "an integer >= 1 or None")
        self._package = load_package()
        self._file: Any = None

    def on_fit_start(self, plan: Any) -> None:
        self._plan, self._tags, self._room = plan, {}, 0.0
        self._sent, self._seen = 0, None
        self._file = EventFile(str(self.folder))
        self._file.add(graph_of(plan.conf))

    def on_round(self, report: Any, state: Any) -> None:
        scalars = training_scalars(self._plan, report)
        self._sent += report.bytes_sent
        self._room += inf if self.bytes_per_round is None else self.bytes_per_round
        self._room -= self._write(scalars, report.iteration)
        self._write_layers()

    def on_validation(self, report: Any, state: Any) -> None:
        self._write(evaluation_scalars(report.validation), report.iteration)

    def on_epoch(self, report: Any, state: Any) -> None:
        if report.validation is not None:
            self._write(evaluation_scalars(report.validation), state.iteration)
        self._write_in_room(epoch_scalars(report.seconds, self._sent), state.iteration)
        self._sent = 0
        if self.histograms:
            self._write_parameters(state, report.epoch)
        self._write_layers()

    def on_restart(self, restart: Any) -> None:
        rounds = self._plan.history.rounds
        last = rounds[-1].iteration if rounds else self._plan.iteration
        self._file.add(restart_at(), last + 1)

    def on_fit_end(self, history: Any) -> None:
        self._write_layers()
        self._write_wrong_examples(history)
        summary = self._package.summary.hparams(hyperparameters(self._plan), self._tags)
        for part in summary:
            self._file.add_summary(part)
        self._file.close()

    def _write_layers(self):
        """Writes the last inspection, if there is a new one."""
        inspection = getattr(self._plan.history, "inspection", None)
        report = inspection.layers[-1] if inspection is not None and inspection.layers else None
        if report is not None and report is not self._seen:
            self._seen = report
            self._write(scalars_of_layers(report), report.iteration)

    def _write_wrong_examples(self, history):
        """Writes the images that the network is most wrong about, if any."""
        summary = images_of(getattr(Run("", history).evaluation, "wrong", ()))
        if summary.value:
            self._add(summary, history.rounds[-1].iteration if history.rounds else 0)

    def _write(self, scalars, update):
        """Writes scalars; returns the bytes written."""
        self._tags |= scalars
        return self._add(summary_of(scalars), update)

    def _add(self, summary, update):
        self._file.add_summary(summary, update)
        return bytes_of(summary)

    def _write_in_room(self, scalars, update):
        if self._room >= bytes_of(summary_of(scalars)):
            self._room -= self._write(scalars, update)

    def _write_parameters(self, state, epoch):
        """Writes histograms of parameters after the first and last epoch, or if there is room."""
        histogram, views = self._package.summary.histogram, self._plan.conf.params_layout.views
        is_end = epoch in (self._plan.epoch, self._plan.epochs - 1)
        if not is_end and self._room < HISTOGRAM * len(self._plan.conf.params_layout.entries):
            return
        for name, array in views(state.params).items():
            finite = np.asarray(array)[np.isfinite(array)]
            if finite.size:
                summary = histogram(f"parameters/{name}", finite, BINS)
                self._room -= self._add(summary, state.iteration) * (not is_end)


def load_package():
    """Returns tensorboardX; raises UnsupportedError, with the cure, if it is missing."""
    with needs_package("TensorBoard", "tensorboardX", "pip install 'sparkdl-hadoop[tensorboard]'"):
        import tensorboardX
    return tensorboardX
