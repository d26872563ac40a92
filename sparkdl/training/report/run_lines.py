"""Events of a fit as JSON lines: one object per line, whose "event" names its kind.

| event | other contents of the line |
|---|---|
| start | format, time, first epoch and round, epochs, rounds_in_epoch, network, environment |
| workers | devices, and each worker's memory in MB (two digits), when they change |
| round | epoch, round, iteration, loss, second, seconds by part, workers; others if not 0 |
|  | rounds_in_epoch, rate_factor, and bytes sent by each worker, when they change |
| epoch, validation | iteration or epoch, and the figures of the evaluation |
| restart | the fields of a Restart, and its second |
| phases | seconds of the fit by phase |
| weights | histograms of parameters |
| layers | the fields of a LayerReport |
| inspection | new fields of an Inspection: costs at first, the others at the end |
| evaluation | the last one with its matrix, its curves and its most wrong examples |
| end | reason, aggregation, whether data were kept and why not, memory of the driver and of JVMs |
|  | bytes by link, of up to 64 workers |

Seconds count from the call of fit. A number that is not finite is null.
"""

import json
import math
from dataclasses import asdict
from datetime import UTC, datetime

from sparkdl.training.report.curves import numbers, score_of, short
from sparkdl.training.report.environment import environment_rows
from sparkdl.training.report.quality import calibration, roc_curves
from sparkdl.training.reporting.reports import PARTS

FORMAT = 1
MB = 1_000_000
LOSS_DIGITS, SECOND_DIGITS = 9, 4  # significant digits; decimals
MOST_ROWS = 100  # of a confusion matrix written in full
MOST_RANKS = 64  # most workers for which each link is written
AT_TIMES = "bytes_sent", "dropped", "skipped"  # fields of a RoundReport that are often 0


def text_of_line(event, **content):
    """Returns a line, without its newline."""
    return json.dumps({"event": event} | content, separators=(",", ":"), allow_nan=False)


def start_line(plan):
    network = None if plan.conf is None else json.loads(plan.conf.to_json())
    place = {name: getattr(plan, name) for name in ("epoch", "round", "epochs", "rounds_in_epoch")}
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    about = {"network": network, "environment": environment_rows()}
    about["master"] = None if plan.history is None else plan.history.master
    return text_of_line("start", format=FORMAT, time=now, **place, **about)


def workers_line(report, known):
    """Returns the line of a round's workers, or None if a reader knows it already.

    Updates `known`.
    """
    memory = [int(float(f"{one.memory / MB:.2g}")) for one in report.by_worker]
    new = news({"devices": report.devices, "memory": memory}, known)
    return text_of_line("workers", **new) if new else None


def news(values, known):
    """Returns the values that differ from the known ones, or at first from nothing; updates
    `known`.
    """
    new = {
        name: value
        for name, value in values.items()
        if (known[name] != value if name in known else has_any(value))
    }
    known |= new
    return new


def has_any(value):
    return any(value) if isinstance(value, list) else bool(value)


def round_line(report, second, known):
    """Returns the line of a RoundReport without known values; updates `known`."""
    place = {"epoch": report.epoch, "round": report.round, "iteration": report.iteration}
    workers = [[one.examples, *seconds_of(one[1:4])] for one in report.by_worker]
    more = {name: value for name in AT_TIMES if (value := getattr(report, name))}
    sent = [one.sent for one in report.by_worker]
    if more.get("bytes_sent") == sum(sent):
        del more["bytes_sent"]
    often_same = {name: getattr(report, name) for name in ("rounds_in_epoch", "rate_factor")}
    more |= news(often_same | {"sent": sent}, known)
    if report.examples != sum(one.examples for one in report.by_worker):
        more["examples"] = report.examples
    if report.workers != len(workers):
        more["size"] = report.workers
    loss = finite(report.loss, LOSS_DIGITS)
    times = {"second": round(second, SECOND_DIGITS), "seconds": seconds_of(parts_of(report))}
    return text_of_line("round", **place, loss=loss, **times, workers=workers, **more)


def epoch_line(report):
    return text_of_line("epoch", epoch=report.epoch, **figures_of(report.validation))


def validation_line(report):
    place = {"iteration": report.iteration, "epoch": report.epoch}
    return text_of_line("validation", **place, **figures_of(report.validation))


def restart_line(restart, second):
    return text_of_line("restart", second=round(second, SECOND_DIGITS), **asdict(restart))


def phases_line(phases):
    shown = {name: round(taken, SECOND_DIGITS) for name, taken in phases.items()}
    return text_of_line("phases", seconds=shown)


def weights_line(histograms):
    return text_of_line("weights", arrays=histograms)


def layers_line(report):
    return text_of_line("layers", **finite_numbers(report.to_dict()))


def costs_line(inspection):
    """Returns the first line of an Inspection."""
    costs = [[*cost] for cost in inspection.costs]
    sizes = {"examples": inspection.examples, "batch_size": inspection.batch_size}
    return text_of_line("inspection", **sizes, costs=costs)


def inspection_line(inspection):
    """Returns the last line of an Inspection."""
    histograms = {"gradients": inspection.gradients, "updates": inspection.updates}
    return text_of_line("inspection", **histograms, wrong=wrong_rows(inspection))


def evaluation_line(evaluation):
    """Returns the line of the last Evaluation, with everything that pages show of it."""
    matrix = confusion_of(evaluation) if hasattr(evaluation, "classes") else {}
    curves = {"roc": roc_curves(evaluation), "calibration": calibration(evaluation)}
    more = {"wrong": wrong_rows(evaluation), "text": str(evaluation)}
    return text_of_line("evaluation", **figures_of(evaluation), **matrix, **curves, **more)


def confusion_of(evaluation):
    """Returns an Evaluation's labels and matrix, or only its nonzero counts if there are many
    classes.
    """
    known = {"labels": evaluation.labels}
    if evaluation.classes <= MOST_ROWS:
        return known | {"matrix": evaluation.confusion.tolist()}
    return known | {"counted": [array.tolist() for array in evaluation.pairs.triples()]}


def wrong_rows(seen):
    """Returns the WrongExamples of an Inspection or Evaluation, for JSON."""
    return [finite_numbers(asdict(example)) for example in getattr(seen, "wrong", ())]


def end_line(history):
    about = {"aggregation": history.aggregation, "data_were_kept": history.data_were_kept}
    about["why_not_kept"] = history.why_not_kept
    about |= {"driver_memory": history.driver_memory, "other_memory": history.other_memory}
    if len(history.sent_between) <= MOST_RANKS:
        about["sent_between"] = history.sent_between
    return text_of_line("end", reason=history.end_reason, **about)


def figures_of(evaluation):
    """Returns the score and the figures of an Evaluation; {} for None."""
    if evaluation is None:
        return {}
    known = numbers(evaluation)
    figures = dict(zip(known, short(known.values()), strict=True))
    return {"score": finite(score_of(evaluation), LOSS_DIGITS), "figures": figures}


def parts_of(report):
    return [report.seconds[part] for part in PARTS]


def seconds_of(values):
    return [round(value, SECOND_DIGITS) for value in values]


def finite_numbers(value):
    """Returns dicts and lists in which numbers that are not finite are None."""
    if isinstance(value, dict):
        return {name: finite_numbers(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite_numbers(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def finite(value, digits):
    """Returns a number with so many significant digits; None for None and what is not finite."""
    is_finite = value is not None and math.isfinite(value)
    return float(f"{value:.{digits}g}") if is_finite else None
