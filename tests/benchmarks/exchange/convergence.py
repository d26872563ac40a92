"""All masters with 2 and 4 workers: the same network, examples and joint batch size.

All train with momentum. If a server applies each worker's gradient separately and late, the rate
must be lower: at 0.03 such fits diverge. So does block momentum with 4 workers, where each worker's
progress counts in full. Vectors go through sockets, so that bytes are counted.
"""

from dataclasses import asdict

from sparkdl.errors import SparkdlError
from sparkdl.training.masters.block_momentum.master import BlockMomentum
from sparkdl.training.masters.parameter_server.master import ParameterServer
from sparkdl.training.masters.registry import MASTERS
from sparkdl.training.workers.local import LocalWorkers
from tests.benchmarks.exchange.digits import fit
from tests.benchmarks.exchange.row import Bar, Row

EPOCHS, JOINT = 3, 64
SIZES = (2, 4)
RATE, RATE_OF_SINGLE_PUSHES, RATE_OF_BLOCKS = 0.03, 0.005, 0.01
PUSHES = ("bounded", "async", "hogwild")
OPTIONS = {
    "ParameterAveraging, driver": {},
    "ParameterAveraging, peers": {"aggregation": "peers"},
    "AllReduceSGD": {},
    "AllReduceSGD, OneBit": {"codec": "OneBit"},
    "ElasticAveraging, sync": {},
    "ElasticAveraging, async": {"mode": "async"},
    "ParameterServer, sync": {},
    "ParameterServer, bounded": {"mode": "bounded", "staleness": 4},
    "ParameterServer, async": {"mode": "async"},
    "ParameterServer, hogwild": {"mode": "hogwild"},
    "BlockMomentum": {"block_size_per_worker": 320},
    "GradientSharing, Threshold": {},
    "GradientSharing, OneBit": {"codec": "OneBit", "share": "gradients"},
    "LocalSGD": {},
    "LocalSGD, adaptive": {"adaptive": True},
}


def masters():
    """Returns {title: (name of the master, options)} of all masters, some with several options."""
    ways = {what: (what.partition(",")[0], options) for what, options in OPTIONS.items()}
    others = set(MASTERS) - {name for name, _ in ways.values()}
    return ways | {name: (name, {}) for name in sorted(others)}


def measure(options):
    """Yields a row for each master and number of workers."""
    for size in SIZES:
        with LocalWorkers(size) as workers:
            for what, (name, chosen) in masters().items():
                common = {"workers": size, "batch_size_per_worker": JOINT // size}
                master = MASTERS[name](**common, **chosen, shared_memory=False)
                yield tried(f"{what}, {size} workers", master, workers)


def tried(title, master, workers):
    """Returns the row of a fit, even if it failed."""
    try:
        return row(title, fit(master, workers, EPOCHS, rate_for(master)))
    except SparkdlError as error:
        failed = Bar(what=str(error)[:160], value=None, bound=0.0)
        return Row(title=title, ours="failed", bars=(failed,))


def rate_for(master):
    """Returns a master's learning rate."""
    if type(master) is BlockMomentum:
        return RATE_OF_BLOCKS
    single = type(master) is ParameterServer and master.mode in PUSHES
    return RATE_OF_SINGLE_PUSHES if single else RATE


def row(title, found):
    note = (
        f"{found.sent / 1e6:,.0f} MB between workers, {found.rounds} rounds, {found.updates} "
        f"updates of a worker, {found.examples} examples, {found.speed:,.0f} a second"
    )
    accuracy = f"{found.accuracy[-1]:.4f} correct"
    return Row(title=title, ours=accuracy, notes=(note,), figures=asdict(found))
