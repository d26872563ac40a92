"""The cost model's predictions for 4 processes, from a run of 2, against measured times.

The minimum over rounds counts, as other programs can only add time.
"""

import os
from functools import partial

from sparkdl.commands.simulate import CODECS
from sparkdl.exchange.cost_model import measurement
from sparkdl.exchange.cost_model.model import Cluster
from tests.benchmarks.cpu.pairs import opened
from tests.benchmarks.exchange.crew import Crew
from tests.benchmarks.exchange.row import Bar, Row, duration
from tests.benchmarks.exchange.sides import OURS, OURS_SHARED

WORKERS, NBYTES, REPEATS = 4, 40_000_000, 3  # 10 million parameters
BOUND = 0.25


def measure(options):
    """Yields a row for uncompressed sums, over sockets and shared memory, and for each codec."""
    said, took = {}, {}
    for _ in range(options.rounds // 2 + 1):  # alternating, as other programs may take cores
        for what, seconds in predicted().items():
            said.setdefault(what, []).append(seconds)
        for what, seconds in measured().items():
            took.setdefault(what, []).append(seconds)
    for what in took:
        figures = {"predicted": said[what], "measured": took[what]}
        yield row(what, min(said[what]), min(took[what]), figures)


def row(what, predicted, measured, figures):
    off = Bar(what="off by", value=abs(predicted / measured - 1), bound=BOUND, most=True, unit="")
    title = f"predicted: {what}, 10 M numbers, {WORKERS} processes"
    note = f"measured {duration(measured)}"
    return Row(title=title, ours=duration(predicted), bars=(off,), notes=(note,), figures=figures)


def predicted():
    """Returns {what: seconds} by the model."""
    cores = os.cpu_count() or 1
    place = {
        "costs": measurement.measure_costs(),
        "workers": WORKERS,
        "per_machine": WORKERS,
        "cores": cores,
    }
    apart, together = (Cluster(**place, shared_memory=shared) for shared in (False, True))
    codings = [measurement.measure_coding(codec, settling=0) for codec in CODECS]
    sums = {OURS: apart.all_reduce(NBYTES), OURS_SHARED: together.all_reduce(NBYTES)}
    sums |= {coding.name: together.compressed_all_reduce(NBYTES, coding) for coding in codings}
    return {what: one.seconds for what, one in sums.items()}


def measured():
    """Returns {what: seconds} measured."""
    crews, _ = opened(partial(Crew, size=WORKERS), [OURS, OURS_SHARED])
    try:
        found = {name: told(crew, "all_reduce") for name, crew in crews.items()}
        coded = crews.get(OURS_SHARED) or crews[OURS]
        return found | {type(codec).__name__: told(coded, type(codec).__name__) for codec in CODECS}
    finally:
        for crew in crews.values():
            crew.close()


def told(crew, what):
    return min(crew.told(what, NBYTES, REPEATS, warm_up=3))  # an adaptive codec starts slowly
