"""Metrics of a worker's round, and their merge into the report of the round."""

from dataclasses import asdict, dataclass, fields

import numpy as np

from sparkdl.errors import DivergedError, WorkerError
from sparkdl.training.reporting.reports import RoundReport, WorkerFigures


@dataclass(kw_only=True)
class WorkerMetrics:
    """Metrics of one worker's round; all are numbers, so that they travel as one vector.

    Parameters
    ----------
    examples, loss : float
        Examples trained, and the sum of their losses.
    iteration : float
        The replica's updates so far, after the round.
    reading, exchanging, reporting, duration : float
        Seconds spent waiting for minibatches, for other workers, for the driver to take a state;
        and in total.
    sent : float
        Bytes sent to other workers over the network.
    dropped, skipped : float
        Gradients that came too late to count; updates left out, as in RoundReport.
    memory : float
        Peak memory of the process in bytes.
    finite : float
        1 if loss and weights are finite, else 0.
    """

    examples: float = 0.0
    loss: float = 0.0
    iteration: float = 0.0
    reading: float = 0.0
    exchanging: float = 0.0
    reporting: float = 0.0
    duration: float = 0.0
    sent: float = 0.0
    dropped: float = 0.0
    skipped: float = 0.0
    memory: float = 0.0
    finite: float = 1.0

    def vector(self):
        return np.array(list(asdict(self).values()))

    @classmethod
    def of(cls, vector):
        return cls(**dict(zip([f.name for f in fields(cls)], vector.tolist(), strict=True)))

    @property
    def compute(self):
        """Seconds of computation: the rest of the duration."""
        return max(0.0, self.duration - self.reading - self.exchanging - self.reporting)

    def report(self):
        """Returns the WorkerFigures of this round."""
        times = self.reading, self.compute, self.exchanging
        return WorkerFigures(round(self.examples), *times, int(self.sent), int(self.memory))


def merge_metrics(workers, epoch, part, devices=None, rate_factor=1.0):
    """Returns the RoundReport of a round, or of a RoundPart, from all workers' WorkerMetrics.

    Raises
    ------
    DivergedError
        If the loss or the weights of a worker are no longer finite.
    WorkerError
        If together they have not trained the part's examples.
    """
    number, examples = part.round, part.examples
    trained, loss = (sum(getattr(w, name) for w in workers) for name in ("examples", "loss"))
    if round(trained) != examples:  # with tbptt it is a sum of shares
        raise WorkerError(f"round {number} must train {examples} examples, got {trained:g}")
    if not all(worker.finite for worker in workers):
        raise DivergedError(
            f"loss {loss / trained} in epoch {epoch}, round {number}: training has "
            "diverged; lower the learning rate or clip gradients"
        )
    return RoundReport(
        epoch=epoch,
        round=number,
        rounds_in_epoch=part.rounds,
        iteration=int(max(worker.iteration for worker in workers)),
        examples=examples,
        loss=loss / trained,
        seconds=seconds(workers),
        workers=sum(worker.examples > 0 for worker in workers),
        bytes_sent=int(sum(worker.sent for worker in workers)),
        dropped=int(sum(worker.dropped for worker in workers)),
        skipped=int(sum(worker.skipped for worker in workers)),
        devices=devices or {},
        rate_factor=rate_factor,
        by_worker=tuple(worker.report() for worker in workers),
    )


def seconds(workers):
    """Returns the seconds of a round by activity, of the worker that read and computed longest."""
    slowest = max(workers, key=lambda worker: worker.reading + worker.compute)
    known = slowest.reading + slowest.compute + slowest.exchanging
    return {
        "reading": slowest.reading,
        "compute": slowest.compute,
        "averaging": slowest.exchanging,
        "overhead": max(0.0, max(worker.duration for worker in workers) - known),
    }
