"""Curves of a fit: loss, throughput and learning rate by round, figures by evaluation.

Each point has its update, its epoch (1.5: in the middle of the second) and its second.
"""

import math
from bisect import bisect_left

from sparkdl.errors import ConfigError
from sparkdl.training.reporting.reports import plain

DIGITS = 6  # significant digits of numbers on the page


def round_curves(run):
    """Returns {name: list} with one number per round; "learning rate" only for a known network."""
    history, reports = run.history, run.history.rounds
    epochs = [report.epoch + (report.round + 1) / report.rounds_in_epoch for report in reports]
    curves = {
        "update": [report.iteration for report in reports],
        "epoch": short(epochs),
        "second": short(history.round_ends),
        "loss": short(report.loss for report in reports),
        "examples/s": short(report.examples_per_second for report in reports),
        "MB sent": short(report.bytes_sent / 1e6 for report in reports),
    }
    if run.conf is not None:
        curves["learning rate"] = short(rates(run, reports))
    return curves


def rates(run, reports):
    """Returns the learning rate of each round's last update, as lowered by listeners.

    All None if this process does not know the function of a torch scheduler.
    """
    rate_at = run.conf.optimizer.rate_at
    try:
        return [one.rate_factor * rate_at(one.iteration - 1, one.epoch) for one in reports]
    except ConfigError:
        return [None] * len(reports)


def evaluation_curves(run):
    """Returns {name: list} with one number per evaluation, None for missing figures."""
    places = [*epoch_places(run.history), *validation_places(run.history)]
    places.sort(key=lambda place: place[0])
    figures = [numbers(evaluation) for *_, evaluation in places]
    names = dict.fromkeys(name for one in figures for name in one)
    curves = {name: short(one.get(name) for one in figures) for name in names}
    if not places:
        return {}
    updates, epochs, seconds, _ = zip(*places, strict=True)
    return {"update": list(updates), "epoch": short(epochs), "second": short(seconds)} | curves


def numbers(evaluation):
    """Returns the numeric figures of an Evaluation."""
    figures = plain(evaluation.figures())
    return {name: value for name, value in figures.items() if isinstance(value, int | float)}


def score_of(evaluation):
    """Returns the score as a float, None for an evaluation that has none, as of Caffe's nets."""
    return None if evaluation.score is None else float(evaluation.score)


def epoch_places(history):
    """Yields (update, epoch, second, Evaluation) of the evaluated epochs."""
    last = {report.epoch: place for place, report in enumerate(history.rounds)}
    for report in history.epochs:
        if report.validation is not None and report.epoch in last:
            place = last[report.epoch]
            update, second = history.rounds[place].iteration, history.round_ends[place]
            yield update, report.epoch + 1, second, report.validation


def validation_places(history):
    """Yields (update, epoch, second, Evaluation) of evaluations by updates."""
    updates = [report.iteration for report in history.rounds]
    for report in history.validations:
        place = bisect_left(updates, report.iteration)
        if not report.iteration or place == len(updates):
            yield report.iteration, report.epoch, 0.0, report.validation
            continue
        one = history.rounds[place]
        epoch = one.epoch + (one.round + 1) / one.rounds_in_epoch
        yield report.iteration, epoch, history.round_ends[place], report.validation


def short(values):
    """Returns numbers rounded to a few digits for JSON, None if not finite."""
    return [
        None if value is None or not math.isfinite(value) else float(f"{value:.{DIGITS}g}")
        for value in values
    ]
