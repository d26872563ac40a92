"""sparkdl's side: one workload, or the matrix product that measures the machine's peak."""

import sys
from functools import partial

import numpy as np

from sparkdl.data import Batch
from sparkdl.engine.peak import product
from sparkdl.nn.execution.replica import Replica
from tests.benchmarks.cpu.our_networks import configuration
from tests.benchmarks.cpu.worker import serve
from tests.benchmarks.cpu.workloads import RATE, WORKLOADS

PRODUCT = "product"


def training(workload):
    """Returns (step, facts) of training a network."""
    replica, batch = Replica(configuration(workload)), batch_of(workload)
    updates = iter(range(1, sys.maxsize))

    def step():
        replica.step(batch, RATE, next(updates))

    gradient, _ = replica.programs(len(batch))
    return step, facts(replica, gradient.graph.flops)


def update(workload):
    """Returns (step, facts) of the optimizer alone."""
    replica = Replica(configuration(workload))
    replica.grad[...] = np.random.default_rng(0).normal(0, 0.01, replica.grad.shape)
    updates = iter(range(1, sys.maxsize))
    return lambda: replica.apply(RATE, next(updates)), facts(replica)


def facts(replica, flops=0):
    return {"parameters": replica.conf.parameter_count, "flops": flops}


def batch_of(workload):
    features, labels = workload.arrays()
    return Batch.of(features, labels.astype(np.int32))


def matrices():
    """Returns (step, facts) of a matrix product."""
    program = product()
    return program.run, {"flops": program.graph.flops}


def maker(workload):
    """Returns the function that makes a workload's step."""
    return partial(update if workload.network == "adam" else training, workload)


def main(name):
    serve(matrices if name == PRODUCT else maker(WORKLOADS[name]))


if __name__ == "__main__":
    main(*sys.argv[1:])
