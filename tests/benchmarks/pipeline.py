"""PipelineParallel against AllReduceSGD on two hosts with a slow link, and the cost model.

The hosts are network namespaces of this machine with a core each. Both masters train the same
network on the same minibatches, alternating; a step is the median over the rounds of all turns. The
cost model gets a minibatch's compute time, measured alone on one core, and the link's rate.
"""

import argparse
import json
import os
import sys
import time
from statistics import median

import numpy as np

from sparkdl.commands.simulate import BACKWARD
from sparkdl.data.batches.batch import Batch
from sparkdl.exchange.cost_model.measurement import measure_costs
from sparkdl.exchange.cost_model.model import Cluster
from sparkdl.nn import Dense, NetworkConf, Output, zoo
from sparkdl.nn.execution.replica import Replica
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.pipeline_parallel.cuts import edges_of
from sparkdl.training.masters.pipeline_parallel.master import PipelineParallel
from sparkdl.training.masters.pipeline_parallel.pipeline_model import pipeline_model
from sparkdl.training.network import Network
from tests.benchmarks.exchange.link import HostWorkers, on_the_left

RATES = {"1gbit": 1.25e8, "10gbit": 1.25e9}
UPDATES, ROUNDS, MICROBATCHES = 4, 4, 4


def wide_mlp():
    layers = [Dense(units=4096, activation="relu"), Dense(units=4096, activation="relu")]
    return NetworkConf(input_shape=(784,), layers=[*layers, Output(units=10)], seed=1)


NETWORKS = {"wide_mlp": (wide_mlp, 64), "vgg16": (zoo.vgg16, 2), "lenet": (zoo.lenet, 64)}


def main(argv=None):
    compare(__doc__, __name__, report, argv)


def compare(description, module, report, argv):
    """Runs `module` on two hosts for each network requested, and prints reports."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--network", nargs="+", choices=NETWORKS, default=["wide_mlp"])
    parser.add_argument("--rate", choices=RATES, default="1gbit")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args(argv)
    print_reports(module, options.network, report, options)


def print_reports(module, names, report, options):
    """Runs `module` on two hosts for each name; prints `report` of each result."""
    costs = measure_costs()
    os.environ["OMP_NUM_THREADS"] = "1"  # for processes started from here
    for name in names:
        [found] = on_the_left(module, name, str(options.turns), rate=options.rate)
        bandwidth = RATES[options.rate]
        cluster = Cluster(costs=costs, workers=2, bandwidth=bandwidth, shared_memory=False)
        print(report(name, found, cluster), flush=True)


def report(name, found, cluster):
    """Returns the table of a network as text."""
    (conf, batch), compute = network(name), found["compute"]
    model = pipeline_model(conf, edges_of(conf, "auto", 2), batch, MICROBATCHES)
    lines = table(name, found, cluster, compute, "PipelineParallel", model, "the pipeline is")
    return f"{lines}\n  cut at {found['cut']}"


def table(name, found, cluster, compute, way, model, words):
    """Returns a text with times of AllReduceSGD and another way, measured and by the cost model.

    `compute` is the seconds of a minibatch alone; `words` starts the line with the ratio.
    """
    conf, batch = network(name)
    summed = cluster.all_reduce(4 * conf.parameter_count).seconds
    modelled = {
        "AllReduceSGD": compute + max(0.0, summed - BACKWARD * compute),
        way: compute + model.exchange(cluster, compute).seconds,
    }
    measured = {each: median(found[each]) for each in modelled}
    lines = [
        f"{name}, {conf.parameter_count:,} parameters, 2 workers, {batch} examples each, "
        f"{compute * 1e3:.0f} ms alone"
    ]
    for each, seconds in measured.items():
        lines.append(
            f"  {each:17} {seconds * 1e3:8.1f} ms a step, model {modelled[each] * 1e3:8.1f} ms"
        )
    ratios = [each["AllReduceSGD"] / each[way] for each in (measured, modelled)]
    lines.append(
        f"  {words} {ratios[0]:.2f}x as fast, the model says {ratios[1]:.2f}x "
        f"({ratios[0] / ratios[1]:.2f} of that; bar 0.75 to 1.25)"
    )
    return "\n".join(lines)


def network(name):
    make, batch = NETWORKS[name]
    return make(), batch


def on_this_host(address, right, name, turns):
    """Runs on the left host; prints the seconds per step of both masters."""
    conf, batch = network(name)
    found = {"compute": alone(conf, batch), "cut": conf.stack[edges_of(conf, "auto", 2)[1]].name}
    workers = HostWorkers(address, int(right))
    options = {"batch_size_per_worker": batch, "updates_per_round": UPDATES, "workers": 2}
    options |= {"shared_memory": False, "device": "cpu"}
    ways = AllReduceSGD(**options), PipelineParallel(**options, microbatches=MICROBATCHES)
    try:
        for _ in range(int(turns)):
            for master in ways:
                found.setdefault(type(master).__name__, []).extend(steps(conf, master, workers))
    finally:
        workers.close()
    print(json.dumps(found))


def data(conf, count):
    rng = np.random.default_rng(0)
    [shape] = conf.input_shapes.values()
    x = rng.normal(size=(count, *shape)).astype(np.float32)
    return x, rng.integers(0, conf.output_size, count)


def alone(conf, batch):
    """Returns the median seconds of a step in this process, on one core."""
    replica, examples, took = Replica(conf), Batch.of(*data(conf, batch)), []
    for number in range(1, 8):
        start = time.perf_counter()
        replica.step(examples, 0.001, number)
        took.append(time.perf_counter() - start)
    return median(took[2:])


def steps(conf, master, workers):
    """Returns the seconds per step of each round of an epoch, except the first."""
    examples = data(conf, 2 * master.batch_size_per_worker * UPDATES * ROUNDS)
    history = Network(conf).fit(examples, 1, master, workers)
    return [sum(report.seconds.values()) / UPDATES for report in history.rounds[1:]]


if __name__ == "__main__":
    on_this_host(*sys.argv[1:])
