"""The record of a fit: every round, every epoch, and where the time went."""

from dataclasses import asdict, dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from sparkdl.training.reporting import history_views
from sparkdl.training.reporting.inspection import Inspection
from sparkdl.training.reporting.phases import advice, phase_rows
from sparkdl.training.reporting.reports import (
    PARTS,
    EpochReport,
    EpochSums,
    Restart,
    RoundReport,
    ValidationReport,
    WorkerFigures,
    format_devices,
    format_skipped,
    plain,
    total_seconds,
)
from sparkdl.training.reporting.text_table import align

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from sparkdl.training.evaluation.base import Evaluation
    from sparkdl.training.network import Network

SCORES = 2**28  # bytes of the scores in the evaluations of a History
SUMS = "sums"  # key of the last epoch's sums in a checkpoint's extra
KEPT = "reading took nothing: the records were kept from an earlier fit"


@dataclass
class History:
    """Reports of a fit, in the order in which they were made.

    A round that was repeated because a worker was lost counts once.
    Where the scores of evaluations take more than 256 MiB, earlier evaluations have none: their
    areas under ROC curves are the same, their curves are of bins.

    Parameters
    ----------
    rounds : list of RoundReport
    epochs : list of EpochReport
    validations : list of ValidationReport
        Evaluations by updates; those after epochs are the epochs' own.
    restarts : list of Restart
    end_reason : str or None
        Why the fit ended, if it was of a stream, was stopped by a listener, or failed.
    phases : dict
        Seconds of the fit's wall clock by phase.
    aggregation : str or None
        How parameters were averaged, and why, if the fit has chosen.
    data_were_kept : bool
        Whether this fit used records that an earlier fit had read, and read none itself.
    why_not_kept : str or None
        Why the next fit reads the same data again, if the data is the reason.
    inspection : Inspection or None
        Results of an Inspector of the network's layers.
    master : dict or None
        The master's options that are not their defaults, and its type.
    driver_memory : int
        Peak memory of the driver's Python process, in bytes; 0 until the fit ends.
    other_memory : dict
        {process: its peak memory in bytes} of Spark's JVMs.
    sent_between : tuple of tuple of int
        Bytes that each worker has sent to each other worker over the network since the last
        restart, a row per rank; empty if workers did not stay for the whole fit.
    round_ends, restart_times : list of float
        Times, in seconds from the start of the fit, at which the driver received each of `rounds`
        and `restarts`.
    earlier : EpochSums or None
        Sums over the rounds of the first epoch that an earlier fit had done, if this fit resumed
        within it.
    """

    rounds: list[RoundReport] = field(default_factory=list)
    epochs: list[EpochReport] = field(default_factory=list)
    validations: list[ValidationReport] = field(default_factory=list)
    restarts: list[Restart] = field(default_factory=list)
    end_reason: str | None = None
    phases: dict[str, float] = field(default_factory=dict)
    aggregation: str | None = None
    data_were_kept: bool = False
    why_not_kept: str | None = None
    round_ends: list[float] = field(default_factory=list)
    restart_times: list[float] = field(default_factory=list)
    inspection: Inspection | None = None
    master: dict[str, Any] | None = None
    driver_memory: int = 0
    other_memory: dict[str, int] = field(default_factory=dict)
    sent_between: tuple[tuple[int, ...], ...] = ()
    earlier: EpochSums | None = None

    def add_round(self, report: RoundReport) -> None:
        self.rounds.append(report)
        self.round_ends.append(self.wall)

    def end_epoch(self, validation: "Evaluation | None" = None) -> EpochReport:
        """Closes the epoch of the last round and returns its EpochReport."""
        self.epochs.append(EpochReport.of_sums(self._sums(), validation))
        limit_scores(self.epochs)
        return self.epochs[-1]

    def add_validation(self, report: ValidationReport) -> None:
        self.validations.append(report)
        limit_scores(self.validations)

    def keep_last(self, count: int) -> None:
        """Forgets all reports of each kind but the last `count`."""
        kinds: tuple[list[Any], ...] = (self.rounds, self.round_ends, self.epochs)
        kinds += (self.validations, self.restarts, self.restart_times)
        for reports in kinds:
            del reports[:-count]

    def note_sums(self, extra: dict[str, Any]) -> None:
        """Notes what a fit needs to know that goes on inside the epoch of the last round."""
        sums = self._sums()
        extra[SUMS] = None if sums is None else sums._asdict()

    def _sums(self):
        if not self.rounds:
            return self.earlier
        epoch = self.rounds[-1].epoch
        rounds = list(takewhile(lambda report: report.epoch == epoch, reversed(self.rounds)))
        return EpochSums.of(rounds[::-1], self.earlier)

    def go_back(self, restart: Restart) -> None:
        """Drops rounds that were lost, and the counts of bytes that earlier workers sent."""
        self.sent_between = ()
        self.restarts.append(restart)
        self.restart_times.append(self.wall)
        self.keep_rounds(len(self.rounds) - restart.lost)

    def keep_rounds(self, count: int) -> None:
        """Forgets all rounds but the first `count`."""
        del self.rounds[count:], self.round_ends[count:]

    def extend(self, later: "History") -> None:
        """Appends the history of a later fit, as if it were the next part of this one."""
        wall = self.wall
        self.rounds += later.rounds
        self.epochs += later.epochs
        self.validations += later.validations
        limit_scores(self.epochs)
        limit_scores(self.validations)
        self.restarts += later.restarts
        self.round_ends += [wall + end for end in later.round_ends]
        self.restart_times += [wall + second for second in later.restart_times]
        self.master = later.master or self.master
        self.driver_memory = max(self.driver_memory, later.driver_memory)
        for process, memory in later.other_memory.items():
            self.other_memory[process] = max(memory, self.other_memory.get(process, 0))
        self.sent_between = later.sent_between
        if later.inspection is not None:
            self.inspection = later.inspection.after(self.inspection)
        for phase, seconds in later.phases.items():
            self.phases[phase] = self.phases.get(phase, 0.0) + seconds

    @property
    def skipped(self) -> int:
        """Updates skipped in all rounds; see RoundReport."""
        return sum(report.skipped for report in self.rounds)

    @property
    def devices(self) -> dict[str, int]:
        """{device: workers} of the round with the most workers, the last of equals.

        In other rounds, as the last of an epoch often is, some workers may have had no records.
        """
        rounds = [report.devices for report in reversed(self.rounds)]
        return max(rounds, key=lambda devices: sum(devices.values()), default={})

    @property
    def wall(self) -> float:
        """Seconds that the fit took: the sum of its phases."""
        return sum(self.phases.values())

    def advice(self) -> str:
        """Returns a sentence on what took the most time, and how to reduce it."""
        return advice(self.phases)

    @property
    def workers(self) -> int:
        """Largest number of workers in a round."""
        return max((len(report.by_worker) for report in self.rounds), default=0)

    def by_worker(self) -> list[WorkerFigures]:
        """Returns the sums of each worker over all rounds, in the order of ranks.

        Of memory it is the most.
        """
        of_workers = [
            [report.by_worker[rank] for report in self.rounds if rank < len(report.by_worker)]
            for rank in range(self.workers)
        ]
        return [WorkerFigures.of_rounds(rounds) for rounds in of_workers]

    def times(self) -> dict[str, float]:
        """Returns the seconds of all rounds by part: reading, compute, averaging, overhead."""
        return total_seconds(self.rounds)

    def shares(self) -> dict[str, float]:
        """Returns the share of each part in the time of all rounds, in [0, 1]."""
        times = self.times()
        total = sum(times.values())
        return {part: seconds / total if total > 0 else 0.0 for part, seconds in times.items()}

    def to_dict(self) -> dict[str, Any]:
        """Returns plain lists and numbers, as JSON has them."""
        return {
            "rounds": [report.to_dict() for report in self.rounds],
            "epochs": [report.to_dict() for report in self.epochs],
            "validations": [report.to_dict() for report in self.validations],
            "times": self.times(),
            "by_worker": [plain(worker._asdict()) for worker in self.by_worker()],
            "restarts": [asdict(restart) for restart in self.restarts],
            "round_ends": list(self.round_ends),
            "restart_times": list(self.restart_times),
            "phases": dict(self.phases),
            "aggregation": self.aggregation,
            "data_were_kept": self.data_were_kept,
            "why_not_kept": self.why_not_kept,
        }

    def to_pandas(self, of: str = "epochs") -> Any:
        """Returns a pandas DataFrame with a row for each report.

        Its columns are the reports' numbers; figures of an evaluation are "validation loss" ..., as
        listeners monitor them.

        Parameters
        ----------
        of : "epochs", "rounds" or "validations"
        """
        return history_views.to_pandas(self, of)

    def plot(self, figures: "Sequence[str] | None" = None, axes: Any = None) -> Any:
        """Plots metrics by epoch, or the loss by round before the first epoch is over.

        Parameters
        ----------
        figures : sequence of str, optional
            Columns of `to_pandas`. None: the losses of training and validation.
        axes : matplotlib Axes, optional
            None: those of a new picture.

        Returns
        -------
        The Axes. UnsupportedError where there is no matplotlib.
        """
        return history_views.plot(self, figures, axes)

    def report(
        self, path: "str | PathLike[str]", network: "Network | None" = None, title: str = "Fit"
    ) -> None:
        """Writes a report as one self-contained HTML file, which needs no network.

        It has charts of the loss, the metrics, the learning rate and the throughput, the time of
        each worker by part, the last evaluation, the network and the environment.

        Parameters
        ----------
        path : path
            Path of the file; an existing one is replaced.
        network : Network, optional
            The trained network: its layers, learning rates and parameters are shown too.
        title : str
        """
        from sparkdl.training.report.page import write_report  # executors don't need it
        from sparkdl.training.report.run import Run

        write_report(path, [Run.of(title, self, network)], title)

    def _repr_html_(self) -> str:
        from sparkdl.training.report.notebook import history_html  # needed only in notebooks

        return history_html(self)

    def __str__(self) -> str:
        """Describes the fit in lines.

        One per epoch, then evaluations by updates, where the time went, whether records were kept
        from an earlier fit, what each of several workers did, how parameters were averaged, who
        computed where, updates left out, restarts, and why a stream ended.
        """
        if not (self.rounds or self.epochs or self.validations):
            return self.end_reason or "no rounds"
        validations, restarts = ("\n".join(map(str, x)) for x in (self.validations, self.restarts))
        where = format_devices("workers", self.devices)
        parts = [_epoch_table(self.epochs), validations, _time_table(self), self.advice()]
        parts += [KEPT if self.data_were_kept else self.why_not_kept]
        parts += [_worker_table(self.by_worker()), self.aggregation, where]
        parts += [format_skipped(self.skipped), restarts, self.end_reason]
        return "\n\n".join(filter(None, parts))


def limit_scores(reports: "Sequence[EpochReport | ValidationReport]") -> None:
    """Drops the scores of the earlier evaluations where all together take more than SCORES."""
    held = 0
    for report in reversed(reports):
        size = getattr(report.validation, "score_bytes", 0)
        held += size
        if size and held > SCORES and report is not reports[-1]:
            report.validation.drop_scores()


def _epoch_table(epochs):
    if not epochs:
        return ""
    head = ["epoch", "loss", "score", "examples", "examples/s", "seconds", *PARTS]
    return align([head, *(_epoch_row(report) for report in epochs)])


def _epoch_row(report):
    score = "-" if report.score is None else f"{report.score:.4f}"
    speed, duration = f"{report.examples_per_second:.0f}", f"{report.duration:.1f}"
    numbers = [str(report.epoch + 1), f"{report.loss:.4f}", score, str(report.examples)]
    return [*numbers, speed, duration, *(f"{report.seconds[part]:.1f}" for part in PARTS)]


def _worker_table(workers):
    """Describes what each worker did, if there are several."""
    if len(workers) < 2:
        return ""
    head = ["worker", *WorkerFigures._fields[:4]]
    rows = [
        [str(rank), str(one.examples), *(f"{seconds:.1f}" for seconds in one[1:4])]
        for rank, one in enumerate(workers)
    ]
    return align([head, *rows])


def _time_table(history):
    """Describes the wall clock of a fit, or the time of its rounds if no phases are known."""
    shares = history.shares()
    parts = [(part, seconds, shares[part]) for part, seconds in history.times().items()]
    found = phase_rows(history.phases) or parts
    rows = [[name, f"{seconds:.2f} s", f"{100 * share:.1f} %"] for name, seconds, share in found]
    total = f"{sum(seconds for _, seconds, _ in found):.2f} s"
    return align([["where time went", "", ""], *rows, ["total", total, ""]], left=1)
