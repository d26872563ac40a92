"""TensorParallel against AllReduceSGD on two hosts with a slow link, and the cost model.

The hosts are network namespaces of this machine with a core each, as in pipeline.py. A minibatch's
time alone is measured in each turn as well.
"""

import json
import sys
from statistics import median

from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.tensor_parallel.master import TensorParallel
from sparkdl.training.masters.tensor_parallel.tensor_model import tensor_model
from tests.benchmarks.exchange.link import HostWorkers
from tests.benchmarks.pipeline import UPDATES, alone, compare, network, steps, table


def main(argv=None):
    compare(__doc__, __name__, report, argv)


def report(name, found, cluster):
    """Returns the table of a network as text."""
    conf, batch = network(name)
    compute, model = median(found["compute"]), tensor_model(conf, 2, batch)
    return table(name, found, cluster, compute, "TensorParallel", model, "divided layers are")


def on_this_host(address, right, name, turns):
    """Runs on the left host; prints the seconds per step of both masters."""
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
