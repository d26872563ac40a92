"""Measurements of each row of the table."""

from contextlib import contextmanager
from functools import partial

from tests.benchmarks.cpu.load import Others
from tests.benchmarks.cpu.pairs import compared, in_turns, opened
from tests.benchmarks.cpu.processes import OURS, Failed, Start, Steps, Together
from tests.benchmarks.cpu.row import Row
from tests.benchmarks.cpu.workloads import WORKLOADS

PRODUCT = "product"  # the matrix product that measures the machine's peak
SLOW_TO_START = "torch.compile"


def steps(name, threads, options):
    """Measures a training step's time and its share of the peak, in the same rounds."""
    workload = WORKLOADS[name]
    make = partial(opening, name, threads)
    with sides(make, [OURS, PRODUCT, *options.modes]) as (running, failed):
        found, others = watched(running, options)
        facts = {side: running[side].facts for side in running}
    peak = facts[PRODUCT]["flops"] / min(found.pop(PRODUCT))
    result = compared(found) | {"peak": peak}
    flops = facts.get(OURS, {}).get("flops")
    bars = {"best": workload.best, "as_run": workload.as_run, "share": workload.share}
    reached = flops / result["ours"] / peak if flops else None
    figures = {"found": found, "result": result, "failed": failed, "others": others}
    return [Row(title=workload.title, threads=threads, reached=reached, **figures, **bars)]


def watched(running, options):
    """Returns (alternating figures of all sides, cores that other programs used meanwhile)."""
    others = Others([pid for side in running.values() for pid in side.pids])
    return in_turns(running, options.rounds, options.burst), others.cores()


def opening(name, threads, side):
    return Steps(side, PRODUCT if side == PRODUCT else name, threads)


@contextmanager
def sides(make, names):
    """Yields ({name: side}, {name: reason of its failure}); closes the sides at the end.

    Raises
    ------
    Failed, if the sides train different numbers of parameters.
    """
    running, failed = opened(make, names)
    try:
        counts = {n: side.facts["parameters"] for n, side in running.items() if n != PRODUCT}
        if len(set(counts.values())) > 1:
            raise Failed(f"the sides must have as many parameters each, got {counts}")
        yield running, failed
    finally:
        for side in running.values():
            side.close()


def two_processes(options):
    """Measures two processes of two threads on the same cores, each peer with default spinning."""
    make = partial(Together, workload="lenet", threads=2)
    with sides(make, [OURS, *options.modes]) as (running, failed):
        found, others = watched(running, options)
    bars = {"best": 2.0, "as_run": 4.0}
    figures = {"found": found, "result": compared(found), "failed": failed, "others": others}
    return [Row(title="LeNet b64, two processes", threads=2, **figures, **bars)]


def cold_start(name, limit, options):
    """Measures a fresh process: from the configuration, and from its start, to the first step."""
    modes = [mode for mode in options.modes if mode != SLOW_TO_START]
    starts, failed = opened(partial(Start, workload=name, threads=2), [OURS, *modes])
    found = in_turns(starts, min(options.rounds, 5), options.burst)
    title, seconds = WORKLOADS[name].title, {"unit": "s", "scale": 1.0, "threads": 2}
    whole = {side: start.whole for side, start in starts.items()}
    rows = {"conf to first step": (found, limit), "with imports": (whole, None)}
    return [
        Row(
            title=f"{title}, {what}",
            found=figures,
            result=compared(figures),
            failed=failed,
            limit=most,
            **seconds,
        )
        for what, (figures, most) in rows.items()
    ]


def memory(options):
    """Measures the peak resident memory of a process that trains ResNet-50."""
    make = partial(Steps, workload="resnet50", threads=2)
    with sides(make, [OURS, *options.modes]) as (running, failed):
        for side in running.values():
            side.measure(options.burst)
        found = {name: [side.resident] for name, side in running.items()}
    figures = {"found": found, "result": compared(found), "failed": failed, "best": 1.0}
    return [Row(title="ResNet-50 b8, memory", threads=2, unit="MB", scale=1e-6, **figures)]


MEASURES = {
    "two_processes": two_processes,
    "cold_lenet": partial(cold_start, "lenet", 0.3),
    "cold_resnet50": partial(cold_start, "resnet50", 2.0),
    "memory": memory,
}
