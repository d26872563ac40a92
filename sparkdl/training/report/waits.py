"""Descriptions of who waited for whom in a fit, and why no round ran for a while.

The slowest worker of a round is the one that read and computed longest. All others wait for it: in
their exchange if workers are resident, and idle if the driver averages.
"""

from collections import Counter

DRIVER = "for the driver: rounds are begun and ended, by Spark where it runs them"
ENDING = "the fit ends: checkpoints, listeners, workers"


def slowest_of(report):
    """Returns (rank of a round's slowest worker, its longest activity); None without workers."""
    if not report.by_worker:
        return None
    figures = report.by_worker
    rank = max(range(len(figures)), key=lambda n: figures[n].busy)
    return rank, "reading" if figures[rank].reading > figures[rank].compute else "computing"


def waited_for(report):
    """Returns the total seconds that the others of a round waited for the slowest."""
    busy = [one.busy for one in report.by_worker]
    return sum(max(busy) - seconds for seconds in busy)


def reason_to_wait(reports, rank):
    """Returns why a worker was idle in some rounds that are drawn as one."""
    found = Counter(slowest_of(report) for report in reports if report.by_worker)
    (slowest, doing), _ = found.most_common(1)[0]
    if slowest == rank:
        return DRIVER
    return f"for worker {slowest}, the slowest, which was {doing}"


def reason_between(history, number, end, start):
    """Returns why no round ran from `end`, the end of round `number`, to `start`."""
    restarts = zip(history.restart_times, history.restarts, strict=True)
    lost = [str(restart) for second, restart in restarts if end <= second <= start]
    if lost:
        return f"restart: {'; '.join(lost)}"
    report = history.rounds[number]
    ended = {epoch.epoch: epoch for epoch in history.epochs}.get(report.epoch)
    at_end = ended is not None and report.round + 1 == report.rounds_in_epoch
    if at_end and ended.validation is not None:
        return f"evaluation after epoch {report.epoch + 1}"
    if any(one.iteration == report.iteration for one in history.validations):
        return f"evaluation after {report.iteration} updates"
    if at_end:
        return f"the end of epoch {report.epoch + 1}: checkpoints, listeners"
    return ENDING if number + 1 == len(history.rounds) else "checkpoints, listeners, Spark's jobs"


def waits(history):
    """Returns [rank, rounds in which it was the slowest, seconds waited for it, its activity].

    One row per worker; none if there is only one worker.
    """
    if history.workers < 2:
        return []
    rounds, seconds, doing = Counter(), Counter(), Counter()
    for report in history.rounds:
        if len(report.by_worker) > 1:
            rank, what = slowest_of(report)
            rounds[rank] += 1
            seconds[rank] += waited_for(report)
            doing[rank, what] += 1
    return [
        [rank, rounds[rank], seconds[rank], most(doing, rank) if rounds[rank] else ""]
        for rank in range(history.workers)
    ]


def most(doing, rank):
    return max(("computing", "reading"), key=lambda what: doing[rank, what])


def sentence(history):
    """Returns a sentence on the worker that others waited for longest, or ""."""
    rows = [row for row in waits(history) if row[2] > 0]
    if not rows:
        return ""
    rank, rounds, seconds, doing = max(rows, key=lambda row: row[2])
    counted = sum(len(report.by_worker) > 1 for report in history.rounds)
    return (
        f"Worker {rank} was the slowest in {rounds:,} of {counted:,} rounds; the others waited "
        f"{seconds:.2f} s for it, while it was {doing}."
    )
