"""TensorParallel beside AllReduceSGD on two hosts with a slow link, and what the model says.

The hosts are namespaces of this machine with a core each, as in pipeline.py beside this. What a
minibatch takes alone is measured in each turn as well.
"""

import argparse
import json
import os
import sys
from statistics import median

from sparkdl.commands.simulate import BACKWARD
from sparkdl.exchange.cost_model.measurement import measure_costs
from sparkdl.exchange.cost_model.model import Cluster
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.tensor_parallel.master import TensorParallel
from sparkdl.training.masters.tensor_parallel.model import tensor_model
from tests.benchmarks.exchange.link import HostWorkers, on_the_left
from tests.benchmarks.pipeline import NETWORKS, RATES, UPDATES, alone, network, steps


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", nargs="+", choices=NETWORKS, default=["wide_mlp"])
    parser.add_argument("--rate", choices=RATES, default="1gbit")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args(argv)
    costs = measure_costs()
    os.environ["OMP_NUM_THREADS"] = "1"  # of what is started from here
    for name in options.network:
        found = list(on_the_left(__name__, name, str(options.turns), rate=options.rate))
        print(report(name, found[0], costs, RATES[options.rate]), flush=True)


def report(name, found, costs, bandwidth):
    """The table of a network, as text."""
    (conf, batch), compute = network(name), median(found["compute"])
    measured = {way: median(found[way]) for way in ("AllReduceSGD", "TensorParallel")}
    modelled = predictions(conf, batch, costs, bandwidth, compute)
    lines = [
        f"{name}, {conf.parameter_count:,} parameters, 2 workers, {batch} examples each, "
        f"{compute * 1e3:.0f} ms alone"
    ]
    for way, seconds in measured.items():
        lines.append(
            f"  {way:17} {seconds * 1e3:8.1f} ms a step, model {modelled[way] * 1e3:8.1f} ms"
        )
    ratios = [each["AllReduceSGD"] / each["TensorParallel"] for each in (measured, modelled)]
    lines.append(
        f"  divided layers are {ratios[0]:.2f}x as fast, the model says {ratios[1]:.2f}x "
        f"({ratios[0] / ratios[1]:.2f} of that; bar 0.75 to 1.25)"
    )
    return "\n".join(lines)


def predictions(conf, batch, costs, bandwidth, compute):
    """{way: seconds of a step}"""
    cluster = Cluster(costs=costs, workers=2, bandwidth=bandwidth, shared_memory=False)
    summed = cluster.all_reduce(4 * conf.parameter_count).seconds
    divided = tensor_model(conf, 2, batch).exchange(cluster, compute).seconds
    return {
        "AllReduceSGD": compute + max(0.0, summed - BACKWARD * compute),
        "TensorParallel": compute + divided,
    }


def on_this_host(address, right, name, turns):
    """Runs on the left host: prints the seconds of each step of both ways."""
    conf, batch = network(name)
    found, workers = {}, HostWorkers(address, int(right))
    options = {"batch_size_per_worker": batch, "updates_per_round": UPDATES, "workers": 2}
    options |= {"shared_memory": False, "device": "cpu"}
    try:
        for _ in range(int(turns)):
            found.setdefault("compute", []).append(alone(conf, batch))
            for master in (AllReduceSGD(**options), TensorParallel(**options)):
                found.setdefault(type(master).__name__, []).extend(steps(conf, master, workers))
    finally:
        workers.close()
    print(json.dumps(found))


if __name__ == "__main__":
    on_this_host(*sys.argv[1:])
