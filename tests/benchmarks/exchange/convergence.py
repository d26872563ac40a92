"""All masters, 2 and 4 workers: the same network, the same examples, joint batches as large."""

from dataclasses import asdict

from sparkdl.training.local import LocalWorkers
from sparkdl.training.masters import MASTERS
from tests.benchmarks.exchange.digits import fit
from tests.benchmarks.exchange.row import Row

EPOCHS, JOINT = 4, 64
SIZES = (2, 4)
OPTIONS = {
    "ParameterAveraging, driver": {"averaging_frequency": 5},
    "ParameterAveraging, peers": {"averaging_frequency": 5, "aggregation": "peers"},
    "AllReduceSGD": {},
    "AllReduceSGD, OneBit": {"codec": "OneBit"},
}


def masters():
    """{what: name of the master, its options}: all there are, some in several ways."""
    ways = {what: (what.partition(",")[0], options) for what, options in OPTIONS.items()}
    others = set(MASTERS) - {name for name, _ in ways.values()}
    return ways | {name: (name, {}) for name in sorted(others)}


def measure(options):
    """A row for each master and number of workers."""
    for size in SIZES:
        with LocalWorkers(size) as workers:
            for what, (name, chosen) in masters().items():
                common = {"workers": size, "batch_size_per_worker": JOINT // size}
                found = fit(MASTERS[name](**common, **chosen), workers, EPOCHS)
                yield row(f"{what}, {size} workers", found)


def row(title, found):
    note = (
        f"{found.sent / 1e6:,.0f} MB between workers, {found.rounds} rounds, {found.updates} "
        f"updates of a worker, {found.examples} examples, {found.speed:,.0f} a second"
    )
    accuracy = f"{found.accuracy[-1]:.4f} correct"
    return Row(title=title, ours=accuracy, notes=(note,), figures=asdict(found))
