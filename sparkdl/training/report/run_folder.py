"""Reader of the folder that a RunLog writes."""

import json
import re
from dataclasses import replace
from math import isfinite
from pathlib import Path

from sparkdl.config import is_integer
from sparkdl.data import files
from sparkdl.data.file_facts import describe
from sparkdl.data.whole_files import read_whole
from sparkdl.errors import ConfigError, DataError
from sparkdl.nn.execution.layer_costs import LayerCost
from sparkdl.nn.networks.document import conf_from_dict
from sparkdl.training.report.recorded_evaluation import RecordedEvaluation
from sparkdl.training.report.run import Run
from sparkdl.training.report.run_lines import AT_TIMES, FORMAT, MB
from sparkdl.training.report.run_log import LOG
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.inspection import (
    ArrayFigures,
    Inspection,
    LayerReport,
    WrongExample,
)
from sparkdl.training.reporting.phases import PHASES
from sparkdl.training.reporting.reports import (
    PARTS,
    EpochReport,
    Restart,
    RoundReport,
    ValidationReport,
    WorkerFigures,
)

NAN = float("nan")
LONGEST = 1e12  # seconds: longer times are invalid, and would swallow others in sums
DAMAGE = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)
IMAGE = re.compile("(data:image/png;base64,[A-Za-z0-9+/]+={0,2})?")  # a page would load others
OFTEN_SAME = "rounds_in_epoch", "sent", "rate_factor"  # of a round, logged when they change


def read_run(folder, name=None):
    """Returns the Run of a folder, even while its fit runs; its name defaults to the folder's.

    Raises
    ------
    DataError
        If there is no log, or a line is invalid; names the path and line.
    """
    path = Path(files.local_path(folder, "fits log to local folders; copy it here"), LOG)
    if is_missing(path):
        cure = "sparkdl train --log and RunLog write one"
        raise DataError(
            f"{folder}: must be a folder with the log of a fit, {LOG}, got none; {cure}"
        )
    reader = RunReader()
    *lines, _ = read_whole(path).decode("utf-8", "replace").split("\n")  # drops an unfinished line
    for number, line in enumerate(lines, 1):
        try:
            reader.read(json.loads(line, parse_int=integer))
        except DAMAGE as error:
            raise DataError(
                f"{path}: line {number} must be an event of a fit, format {FORMAT}, got "
                f"{line[:60]!r} ({type(error).__name__}); remove it, or fit again"
            ) from error
    run = reader.run(name or path.parent.resolve().name)
    return run._replace(last_line=describe(path).modified)


def is_missing(path):
    """Returns whether there is no such file; not if it cannot be told, which reading it reports."""
    try:
        path.stat()
    except OSError as error:
        return isinstance(error, FileNotFoundError | NotADirectoryError)
    return False


class RunReader:
    """Reads the events of a log one by one, and reconstructs the fit."""

    def __init__(self):
        self.earlier, self.history, self.conf = History(), History(), None
        self.histograms, self.environment, self.last = [], [], None
        self.known, self.ended = {}, False

    def run(self, name):
        """Returns the Run of all parts of the fit so far; nothing may be read after that."""
        self.earlier.extend(self.history)
        told = ("end_reason", "aggregation", "data_were_kept", "why_not_kept")
        told += ("driver_memory", "other_memory", "sent_between")
        whole = replace(self.earlier, **{name: getattr(self.history, name) for name in told})
        more = {"histograms": self.histograms, "environment": self.environment, "last": self.last}
        return Run(name, whole, self.conf, ended=self.ended, **more)

    def read(self, event):
        getattr(self, f"_read_{event.pop('event')}")(**event)

    def _read_start(self, format, time, epoch, round, epochs, rounds_in_epoch, **about):
        if format != FORMAT:
            raise ValueError(format)
        need_counts(epoch, round, epochs, rounds_in_epoch)
        self.earlier.extend(self.history)
        self._go_back(epoch, round)
        self.history, self.ended = History(master=about.get("master")), False
        self.known = {"rounds_in_epoch": rounds_in_epoch}
        self.environment = [("began", time), *map(tuple, about["environment"])]
        self._read_network(about["network"])

    def _go_back(self, epoch, round):
        """Drops what a fit that resumes from this round will repeat."""
        earlier = self.earlier
        kept = [one for one in earlier.rounds if (one.epoch, one.round) < (epoch, round)]
        lost = earlier.rounds[len(kept) :]
        earlier.keep_rounds(len(kept))
        earlier.epochs = [one for one in earlier.epochs if one.epoch < epoch]
        if lost:
            self._forget_validations(lost[0].iteration)

    def _forget_validations(self, iteration):
        """Drops evaluations by updates of earlier fits, from this update on."""
        known = self.earlier.validations
        self.earlier.validations = [one for one in known if one.iteration < iteration]

    def _read_network(self, network):
        """Reads the network; one with unknown classes is left out, and a note added."""
        try:
            self.conf = network and conf_from_dict(network)
        except ConfigError as error:
            self.environment.append(("network", f"not shown: {error}"))

    def _read_workers(self, **about):
        self.known |= about

    def _read_round(self, epoch, round, iteration, loss, second, seconds, workers, **more):
        need_counts(epoch, round, iteration)
        need_numbers(*[] if loss is None else [loss])
        need_seconds(second, *seconds)
        self.known |= {name: more[name] for name in OFTEN_SAME if name in more}
        nothing = [0] * len(workers)
        sent, memory = (self.known.get(name) or nothing for name in ("sent", "memory"))
        by_worker = tuple(
            WorkerFigures(*figures, bytes_sent, megabytes * MB)
            for figures, bytes_sent, megabytes in zip(workers, sent, memory, strict=True)
        )
        need_figures(by_worker, self.known, more)
        report = RoundReport(
            epoch=epoch,
            round=round,
            rounds_in_epoch=self.known["rounds_in_epoch"],
            devices=self.known.get("devices", {}),
            rate_factor=self.known.get("rate_factor", 1.0),
            iteration=iteration,
            examples=more.get("examples", sum(one.examples for one in by_worker)),
            loss=NAN if loss is None else loss,
            seconds=dict(zip(PARTS, seconds, strict=True)),
            workers=more.get("size", len(by_worker)),
            by_worker=by_worker,
            **{"bytes_sent": sum(sent)} | {name: more[name] for name in AT_TIMES if name in more},
        )
        self.history.rounds.append(report)
        self.history.round_ends.append(second)
        for part, taken in report.seconds.items():  # until the phases of its epoch are read
            self.history.phases[part] = self.history.phases.get(part, 0.0) + taken

    def _read_epoch(self, epoch, **figures):
        rounds = [*self.earlier.rounds, *self.history.rounds]
        rounds = [report for report in rounds if report.epoch == epoch]
        if rounds:
            self.earlier.epochs = [one for one in self.earlier.epochs if one.epoch < epoch]
            self.history.epochs.append(EpochReport.of(rounds, evaluation_of(**figures)))

    def _read_validation(self, iteration, epoch, **figures):
        need_counts(iteration, epoch)
        validation = evaluation_of(**figures)
        self._forget_validations(iteration)
        report = ValidationReport(iteration=iteration, epoch=epoch, validation=validation)
        self.history.validations.append(report)

    def _read_restart(self, second, **fields):
        restart = Restart(**fields)
        need_seconds(second)
        self.history.restarts.append(restart)
        self.history.restart_times.append(second)
        self.history.keep_rounds(len(self.history.rounds) - restart.lost)

    def _read_phases(self, seconds):
        need_seconds(*seconds.values())
        if not seconds.keys() <= PHASES.keys():
            raise KeyError("a phase")
        self.history.phases = seconds

    def _read_inspection(self, costs=(), wrong=(), **fields):
        """Reads the new fields of an Inspection; its layers have lines of their own."""
        more = {"costs": [LayerCost(*cost) for cost in costs]} if costs else {}
        more |= {"wrong": wrong_of(wrong)} if wrong else {}
        known = self.history.inspection or Inspection()
        self.history.inspection = replace(known, **fields, **more)

    def _read_layers(self, iteration, epoch, arrays, dead):
        need_counts(iteration, epoch)
        arrays = {name: ArrayFigures(*map(number, row)) for name, row in arrays.items()}
        dead = {name: tuple(counts) for name, counts in dead.items()}
        report = LayerReport(iteration=iteration, epoch=epoch, arrays=arrays, dead=dead)
        self.history.inspection = self.history.inspection or Inspection()
        self.history.inspection.add(report)

    def _read_weights(self, arrays):
        self.histograms = arrays

    def _read_evaluation(self, **about):
        self.last = evaluation_of(**about)

    def _read_end(
        self,
        reason,
        aggregation,
        data_were_kept,
        driver_memory=0,  # older logs lack this and the following ones
        why_not_kept=None,
        other_memory=(),
        sent_between=(),
    ):
        self.ended = True
        self.history.end_reason, self.history.aggregation = reason, aggregation
        self.history.data_were_kept, self.history.why_not_kept = data_were_kept, why_not_kept
        self.history.driver_memory = driver_memory
        self.history.other_memory = dict(other_memory)
        self.history.sent_between = tuple(map(tuple, sent_between))


def integer(digits):
    """Returns an integer of a line; raises ValueError beyond 64 bits."""
    if len(digits) > 20 or not -(2**63) <= int(digits) < 2**63:
        raise ValueError(f"{len(digits)} digits")
    return int(digits)


def need_counts(*values):
    if not all(is_integer(value, 0) for value in values):
        raise TypeError("a count")


def need_numbers(*values):
    if not all(type(value) in (int, float) and isfinite(value) for value in values):
        raise TypeError("a number")


def need_seconds(*values):
    need_numbers(*values)
    if not all(0 <= value < LONGEST for value in values):
        raise ValueError("seconds")


def need_figures(by_worker, known, more):
    """Raises an error for figures of workers or of a round that are no numbers."""
    need_seconds(*(second for one in by_worker for second in one[1:4]))
    need_numbers(*(figure for one in by_worker for figure in one))
    others = (more.get(name, 0) for name in (*AT_TIMES, "examples", "size"))
    need_counts(known["rounds_in_epoch"], *others)
    if known["rounds_in_epoch"] == 0:
        raise ValueError("an epoch without rounds")
    need_numbers(known.get("rate_factor", 1.0))


def number(value):
    return NAN if value is None else value


def wrong_of(rows):
    examples = [WrongExample(**row | {"loss": number(row["loss"])}) for row in rows]
    if not all(IMAGE.fullmatch(one.image) for one in examples):
        raise ValueError("an image")
    return examples


def evaluation_of(score=NAN, figures=None, wrong=(), **more):
    """Returns the RecordedEvaluation of a line, None if it has no figures."""
    if figures is None:
        return None
    known = {"numbers": figures, "wrong": wrong_of(wrong)}
    return RecordedEvaluation(score=number(score), **known, **more)
