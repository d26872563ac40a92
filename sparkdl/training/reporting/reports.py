"""Reports of rounds, epochs, validations and restarts, and the plan of a fit."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from sparkdl.errors import count_of, require
from sparkdl.training.reporting.steering import Steering

if TYPE_CHECKING:
    from sparkdl.training.evaluation.base import Evaluation


PARTS = ("reading", "compute", "averaging", "overhead")
"""Activities of a round. `overhead` is the cost of the system around the workers."""


class WorkerFigures(NamedTuple):
    """What one worker did in one or several rounds.

    Parameters
    ----------
    examples : int
    reading, compute, averaging : float
        Seconds that it waited for minibatches, computed, and exchanged with other workers. Those
        of `averaging` are 0 where the driver averages.
    sent : int
        Bytes that it sent to other workers over the network; 0 where they share memory, or do not
        talk.
    memory : int
        Peak memory of its process until then, in bytes.
    """

    examples: int
    reading: float
    compute: float
    averaging: float
    sent: int = 0
    memory: int = 0

    @property
    def busy(self) -> float:
        """Seconds of reading and computing, for which others may have waited."""
        return self.reading + self.compute

    @classmethod
    def of_rounds(cls, rounds: "list[WorkerFigures]") -> Self:
        """Returns the sums over rounds; of memory the most."""
        sums = cls(*map(sum, zip(*rounds, strict=True)))
        return sums._replace(memory=max(one.memory for one in rounds))


class _Timed:
    """Base class of reports with `examples` and `seconds`."""

    examples: int
    seconds: dict[str, float]

    @property
    def duration(self) -> float:
        """Wall-clock seconds: the sum of the parts."""
        return sum(self.seconds.values())

    @property
    def examples_per_second(self) -> float:
        return self.examples / self.duration if self.duration > 0 else 0.0

    def _check_seconds(self) -> None:
        require(self, "seconds", set(self.seconds) == set(PARTS), f"a number for each of {PARTS}")
        require(self, "seconds", min(self.seconds.values()) >= 0, "at least 0")


@dataclass(frozen=True, kw_only=True)
class RoundReport(_Timed):
    """One round.

    Parameters
    ----------
    epoch, round : int
        Epoch and round, both from 0.
    rounds_in_epoch, iteration, examples, workers : int
        Rounds of this epoch; updates per replica after this round; examples trained in this round;
        workers that trained them.
    loss : float
        Mean loss of the round's examples, each with the weights at its minibatch.
    seconds : dict
        Wall-clock seconds by part (`PARTS`); they add up to the time of the round.
    bytes_sent : int
        Bytes that workers sent to each other over the network; 0 if they share memory or do not
        exchange.
    dropped : int
        Gradients of minibatches that arrived too late to count (ParameterServer with backup
        workers).
    skipped : int
        Updates that workers skipped, each by itself, because a float16 gradient was not finite.
    devices : {str: int}
        Number of workers that computed on each device; a CPU is called "the processor".
    rate_factor : float
        Factor that listeners had set on the learning rates of this round; see Steering.
    by_worker : tuple of WorkerFigures
        In the order of their ranks in this round.
    """

    epoch: int
    round: int
    rounds_in_epoch: int
    iteration: int
    examples: int
    loss: float
    seconds: dict[str, float]
    workers: int
    bytes_sent: int = 0
    dropped: int = 0
    skipped: int = 0
    devices: dict[str, int] = field(default_factory=dict)
    rate_factor: float = 1.0
    by_worker: tuple[WorkerFigures, ...] = ()

    def __post_init__(self) -> None:
        self._check_seconds()

    def to_dict(self) -> dict[str, Any]:
        """Returns plain numbers by name, as JSON has them."""
        by_worker = [worker._asdict() for worker in self.by_worker]
        return plain(asdict(self) | {"by_worker": by_worker})


class EpochSums(NamedTuple):
    """Sums over rounds of an epoch, recorded so that a fit can resume inside the epoch.

    Parameters
    ----------
    epoch, examples : int
    loss : float
        Of all examples together.
    seconds : dict
        By part (`PARTS`).
    """

    epoch: int
    examples: int
    loss: float
    seconds: dict[str, float]

    @classmethod
    def of(cls, rounds: "list[RoundReport]", earlier: "EpochSums | None" = None) -> Self:
        """Returns the sums over rounds of one epoch, including its `earlier` ones, if any.

        They are added one by one, so that a resumed fit rounds like an uninterrupted one.
        """
        epoch, before = rounds[-1].epoch, cls(0, 0, 0.0, dict.fromkeys(PARTS, 0.0))
        if earlier is not None and earlier.epoch == epoch:
            before = cls(*earlier)
        loss, seconds = before.loss, dict(before.seconds)
        for report in rounds:
            loss += report.loss * report.examples if report.examples else 0.0
            seconds = {part: seconds[part] + report.seconds[part] for part in PARTS}
        examples = before.examples + sum(report.examples for report in rounds)
        return cls(epoch, plain(examples), plain(loss), plain(seconds))


@dataclass(frozen=True, kw_only=True)
class EpochReport(_Timed):
    """One epoch: sums over its rounds, and the evaluation after it, if there was one.

    Parameters
    ----------
    epoch, examples : int
        Number of the epoch, from 0, and examples trained in it.
    loss : float
        Mean loss of the epoch's examples.
    seconds : dict
        Wall-clock seconds by part (`PARTS`).
    validation : Evaluation or None
    """

    epoch: int
    loss: float
    examples: int
    seconds: dict[str, float]
    validation: Any = None

    def __post_init__(self) -> None:
        self._check_seconds()

    @classmethod
    def of(cls, rounds: "list[RoundReport]", validation: "Evaluation | None" = None) -> Self:
        """Returns the epoch made of `rounds`, a list of RoundReport that is not empty."""
        return cls.of_sums(EpochSums.of(rounds), validation)

    @classmethod
    def of_sums(cls, sums: EpochSums, validation: "Evaluation | None" = None) -> Self:
        """Returns the epoch that has these sums over its rounds."""
        mean = sums.loss / sums.examples if sums.examples else float("nan")
        return cls(**sums._asdict() | {"loss": mean}, validation=validation)

    @property
    def score(self) -> float | None:
        """Accuracy or R2 on the validation data; None without validation data."""
        return None if self.validation is None else self.validation.score

    def to_dict(self) -> dict[str, Any]:
        """Returns plain numbers by name; the validation is the dict of its figures, or None."""
        figures = None if self.validation is None else self.validation.figures()
        fields = {name: getattr(self, name) for name in ("epoch", "loss", "examples", "score")}
        return plain(fields | {"seconds": self.seconds, "validation": figures})


@dataclass(frozen=True, kw_only=True)
class ValidationReport:
    """An evaluation after a number of updates.

    Parameters
    ----------
    iteration, epoch : int
        Updates per replica until now, and the epoch, from 0.
    validation : Evaluation
    """

    iteration: int
    epoch: int
    validation: Any

    def to_dict(self) -> dict[str, Any]:
        """Returns plain numbers by name."""
        place = {"iteration": self.iteration, "epoch": self.epoch}
        return plain(place | {"validation": self.validation.figures()})

    def __str__(self) -> str:
        figures = self.validation.figures().items()
        numbers = [f"{name} {x:.4f}" for name, x in figures if isinstance(x, float | int)]
        return f"update {self.iteration}: {', '.join(numbers)}"


@dataclass(frozen=True, kw_only=True)
class FitPlan:
    """The plan of a fit, which listeners receive at its start.

    Parameters
    ----------
    conf : NetworkConf
        The network.
    epochs, rounds_in_epoch, workers : int
        Epochs at the end of the fit (counted from the network's first), rounds per epoch, and
        workers.
    epoch, round, rounds, iteration : int
        Counters of the TrainState it starts from: zeros, unless it continues an earlier fit.
    updates : int or None
        The update after which it ends, unless it ends with an epoch.
    extra : dict
        Extra content of checkpoints, besides the state: JSON values, and the state to end with.
    figures : tuple of str or None
        Names of the metrics that epochs and evaluations will have; None if unknown.
    metrics : tuple of str
        Names of the user's own among those of evaluations.
    steering : Steering
        Where listeners steer the fit.
    history : History
        The History so far; it grows during the fit.
    master : TrainingMaster or None
        The master that trains; None if unknown.
    """

    conf: Any
    epochs: int
    rounds_in_epoch: int
    workers: int = 1
    epoch: int = 0
    round: int = 0
    rounds: int = 0
    iteration: int = 0
    updates: int | None = None
    extra: dict = field(default_factory=dict)
    figures: tuple[str, ...] | None = None
    metrics: tuple[str, ...] = ()
    steering: Steering = field(default_factory=Steering)
    history: Any = None
    master: Any = None

    @property
    def rounds_in_all(self) -> int:
        """Rounds from the first of epoch 0 to the end of this fit."""
        return self.epochs * self.rounds_in_epoch

    @property
    def rounds_before(self) -> int:
        """Those of `rounds_in_all` that are done when the fit starts."""
        return self.epoch * self.rounds_in_epoch + self.round


@dataclass(frozen=True, kw_only=True)
class Restart:
    """Workers were lost and others continue from an earlier state, or all moved to other slots.

    Parameters
    ----------
    epoch, round : int
        Next epoch and round to train, both from 0.
    lost : int
        Rounds that were done and must be repeated.
    workers : int
        Number of workers now.
    reason : str
        Which worker was lost, and how; or that slots were added, or an executor will leave.
    """

    epoch: int
    round: int
    lost: int
    workers: int
    reason: str

    def __str__(self) -> str:
        place = f"epoch {self.epoch + 1}, round {self.round + 1}"
        go = f"{count_of(self.workers, 'worker')} go" + ("es" if self.workers == 1 else "")
        return f"{self.reason}; {go} on from {place}, {count_of(self.lost, 'round')} lost"


def format_devices(who, devices):
    """Describes the devices that workers or tasks computed on, in one line; "" for none.

    Parameters
    ----------
    who : str
        "workers", "tasks".
    devices : {str: int}
    """
    devices_text = ", ".join(f"{count} on {device}" for device, count in sorted(devices.items()))
    return f"{who} computed: {devices_text}" if devices else ""


def format_skipped(updates):
    """Describes the number of skipped updates, in one line; "" for none."""
    text = f"{updates} updates left out: gradients in float16 were not finite"
    return text if updates else ""


def plain(value: Any) -> Any:
    """Returns `value` with Python numbers in place of numpy's, also inside dicts."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value.item() if isinstance(value, np.generic) else value


def total_seconds(reports: "Iterable[RoundReport]") -> dict[str, float]:
    """Returns the seconds by part, summed over reports."""
    return {part: sum(report.seconds[part] for report in reports) for part in PARTS}
