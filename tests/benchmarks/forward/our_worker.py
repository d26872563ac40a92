"""sparkdl's side: the predictions of one workload."""

import sys
from functools import partial

from sparkdl.nn.execution.replica import Replica
from tests.benchmarks.cpu.our_networks import configuration
from tests.benchmarks.cpu.worker import serve
from tests.benchmarks.cpu.workloads import WORKLOADS


def predicting(workload):
    """Returns (step, facts) of a network's prediction."""
    replica = Replica(configuration(workload))
    features, _ = workload.arrays()
    return partial(replica.forward, features, size=len(features)), {
        "parameters": replica.conf.parameter_count
    }


if __name__ == "__main__":
    serve(partial(predicting, WORKLOADS[sys.argv[1]]))
