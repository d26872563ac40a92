"""Timeline of a fit: the activities of the driver and each worker, and the reasons for waiting.

The driver knows when a round ended and how long each worker read, computed and exchanged in it, but
not in which order: within a round the parts are drawn consecutively.
"""

from itertools import pairwise

from sparkdl.training.report.curves import short
from sparkdl.training.report.waits import reason_between, reason_to_wait
from sparkdl.training.reporting.reports import PARTS

BEFORE = ("starting", "python", "reading", "balance", "launching")  # phases before the first round
BETWEEN = "evaluation, checkpoints, listeners"
WAITING = "waiting"
MOST = 240  # most spans of rounds in a lane; longer fits show several rounds as one


def timeline(history):
    """Returns {"lanes": [{"name", "spans": [[start, end, kind, optional reason]]}], "restarts",
    "reasons": [text]}.

    Seconds count from the call of fit. A reason is an index into "reasons"; "restarts" is [[second,
    text]].
    """
    ends, reasons = round_ends(history), Reasons()
    lanes = [{"name": "driver", "spans": driver_spans(history, ends, reasons)}]
    for rank in range(history.workers):
        spans = worker_spans(history, ends, rank, reasons)
        lanes.append({"name": f"worker {rank}", "spans": spans})
    restarts = zip(short(history.restart_times), map(str, history.restarts), strict=True)
    restarts = [list(restart) for restart in restarts]
    return {"lanes": lanes, "restarts": restarts, "reasons": list(reasons.places)}


class Reasons:
    """Texts with their indices, without duplicates."""

    def __init__(self):
        self.places = {}

    def place(self, text):
        return self.places.setdefault(text, len(self.places))


def round_ends(history):
    """Returns [(start, end)] of each round; no round begins before the previous one has ended."""
    spans, last = [], 0.0
    for report, end in zip(history.rounds, history.round_ends, strict=True):
        start = max(last, end - report.duration)
        spans.append((start, max(start, end)))
        last = max(last, end)
    return spans


def driver_spans(history, rounds, reasons):
    """Returns the spans of the driver's activities before, between and after the rounds."""
    first = rounds[0][0] if rounds else history.wall
    seconds = {phase: history.phases.get(phase, 0.0) for phase in BEFORE}
    in_rounds = sum(report.seconds["reading"] for report in history.rounds)
    seconds["reading"] = max(0.0, seconds["reading"] - in_rounds)
    spans = scaled(0.0, first, seconds)
    gaps = [(end, start) for (_, end), (start, _) in pairwise(rounds)]
    if rounds:
        gaps.append((rounds[-1][1], history.wall))
    for number, (end, start) in enumerate(gaps):
        if start - end > history.wall / 1000:  # shorter gaps would be invisible
            text = reason_between(history, number, end, start)
            spans.append([end, start, BETWEEN, reasons.place(text)])
    return [[*short(span[:2]), *span[2:]] for span in spans]


def worker_spans(history, rounds, rank, reasons):
    """Returns the spans of one worker, merging several rounds if there are many."""
    spans = []
    step = -(-len(rounds) // MOST) if rounds else 1
    for place in range(0, len(rounds), step):
        reports = history.rounds[place : place + step]
        present = [report.by_worker[rank] for report in reports if rank < len(report.by_worker)]
        if not present:
            continue
        start, end = rounds[place][0], rounds[min(place + step, len(rounds)) - 1][1]
        seconds = {part: sum(getattr(one, part) for one in present) for part in PARTS[:3]}
        seconds[WAITING] = max(0.0, end - start - sum(seconds.values()))
        drawn = scaled(start, end, seconds)
        if drawn and drawn[-1][2] == WAITING:
            drawn[-1].append(reasons.place(reason_to_wait(reports, rank)))
        spans += drawn
    return [[*short(span[:2]), *span[2:]] for span in spans]


def scaled(start, end, seconds):
    """Returns consecutive [start, end, kind] spans, scaled to fill `start` to `end`."""
    total, spans = sum(seconds.values()), []
    for kind, share in seconds.items():
        if share > 0:
            stop = start + (end - start) * share / total
            spans.append([start, stop, kind])
            start, total = stop, total - share
    return spans
