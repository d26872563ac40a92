"""Whole and sharded tables on two hosts with a slow link, and the cost model.

The hosts are network namespaces of this machine with a core each. Both ways train the same DLRM on
the same minibatches, alternating; a step is the median over the rounds of all turns. `alone` is a
step in one process on one core, measured in each turn. With --ids spread few ids repeat, as the
model assumes; with --ids zipf those of the first rows repeat often.

    python build.py bench tables hosts --rate 1gbit
"""

import argparse
import json
import sys
import time
from statistics import median

import numpy as np

from sparkdl.commands.simulate import table_plans
from sparkdl.nn.execution.replica import make_replica
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.all_reduce.rows_model import rows_model
from sparkdl.training.network import Network
from tests.benchmarks.exchange.link import HostWorkers
from tests.benchmarks.pipeline import RATES, print_reports
from tests.benchmarks.tables.our_worker import batch_of, configuration
from tests.benchmarks.tables.workloads import FIELDS, NUMBERS, ROWS, STEEPNESS, WORKLOADS

WORKLOAD = "dlrm_adagrad_2048"
UPDATES, ROUNDS, WAYS = 8, 4, ("whole", "sharded")
IDS = {
    "spread": lambda rng, count: rng.integers(0, ROWS, (count, len(FIELDS))),
    "zipf": lambda rng, count: rng.zipf(STEEPNESS, (count, len(FIELDS))) % ROWS,
}


def main(argv=None):
    parser = argparse.ArgumentParser(prog="bench tables hosts", description=__doc__)
    parser.add_argument("--rate", choices=RATES, default="1gbit")
    parser.add_argument("--ids", choices=IDS, nargs="+", default=[*IDS])
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args(argv)
    print_reports(__name__, options.ids, report, options)


def report(ids, found, cluster):
    """Returns the table of one kind of ids as text."""
    conf, batch = configuration(WORKLOADS[WORKLOAD]), WORKLOADS[WORKLOAD].batch
    alone = median(found["alone"])
    lines = [f"DLRM, 2 workers, {batch} examples each, ids {ids}, {alone * 1e3:.0f} ms alone"]
    plans = table_plans(cluster, rows_model(conf, batch), 4 * conf.parameter_count)
    for way, plan in zip(WAYS, plans, strict=True):
        step = median(found[way])
        lines.append(
            f"  {way:8} {step * 1e3:8.1f} ms a step, model {plan.minibatch(alone) * 1e3:8.1f} ms; "
            f"{found[f'{way} bytes'] / 1e6:.2f} MB sent a step, model {plan.total.sent / 1e6:.2f}"
        )
    return "\n".join(lines)


def on_this_host(address, right, ids, turns):
    """Runs on the left host; prints the seconds per step of both ways."""
    conf, batch = configuration(WORKLOADS[WORKLOAD]), WORKLOADS[WORKLOAD].batch
    found, workers = {}, HostWorkers(address, int(right))
    options = {"batch_size_per_worker": batch, "updates_per_round": UPDATES, "workers": 2}
    options |= {"shared_memory": False, "device": "cpu"}
    examples = records(ids, 2 * batch * UPDATES * ROUNDS)
    try:
        for _ in range(int(turns)):
            found.setdefault("alone", []).append(alone(conf, examples, batch))
            for way in WAYS:
                history = Network(conf).fit(
                    examples, 1, AllReduceSGD(tables=way, **options), workers
                )
                rounds = history.rounds[1:]
                found.setdefault(way, []).extend(
                    sum(report.seconds.values()) / UPDATES for report in rounds
                )
                found[f"{way} bytes"] = median(r.bytes_sent for r in rounds) / 2 / UPDATES
    finally:
        workers.close()
    print(json.dumps(found))


def records(ids, count):
    """Returns (columns, labels) of `count` examples."""
    rng = np.random.default_rng(0)
    drawn = IDS[ids](rng, count).astype(np.int64)
    numbers = rng.normal(size=(count, NUMBERS)).astype(np.float32)
    columns = {name: np.ascontiguousarray(drawn[:, i : i + 1]) for i, name in enumerate(FIELDS)}
    return columns | {"numbers": numbers}, rng.integers(0, 2, (count, 1)).astype(np.float32)


def alone(conf, examples, batch):
    """Returns the median seconds of a step in this process, on one core."""
    replica, took, (columns, labels) = make_replica(conf), [], examples
    replica.load_tables({})
    drawn = np.concatenate([columns[name] for name in FIELDS], 1)
    for t in range(1, 16):
        part = slice((t - 1) % 8 * batch, ((t - 1) % 8 + 1) * batch)
        given = batch_of(drawn[part], columns["numbers"][part], labels[part])
        start = time.perf_counter()
        replica.step(given, replica.conf.rate_at(0, 0), t)
        took.append(time.perf_counter() - start)
    return median(took[8:])


if __name__ == "__main__":
    on_this_host(*sys.argv[1:])
