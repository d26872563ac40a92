"""sparkdl's side: one workload on the GPU, in its own process."""

import sys
import time
import weakref
from functools import partial
from statistics import median

import numpy as np

from sparkdl.engine import backends
from sparkdl.nn.execution.replica import Replica
from tests.benchmarks.cpu.worker import serve
from tests.benchmarks.gpu.batches import Some
from tests.benchmarks.gpu.our_networks import configuration
from tests.benchmarks.gpu.workloads import RATE, WORKLOADS

STEPS = 10  # steps queued on the device before waiting


def training(workload):
    """Returns (step, facts) of training; the batch is fed once and stays on the device."""
    held = Held(driver())
    replica, batch = Replica(configuration(workload), "cuda"), batch_of(workload)
    for t in (1, 2):
        float(replica.step(batch, RATE, t))
    programs = replica.programs(len(batch))
    call = steps(programs[0].device, programs[0].join(programs[1]))
    return call, facts(replica, programs, held)


def updating(workload):
    """Returns (step, facts) of the optimizer alone."""
    held = Held(driver())
    replica = Replica(configuration(workload), "cuda")
    replica.grad = np.random.default_rng(0).normal(0, 0.01, replica.grad.shape)
    for t in (1, 2):
        replica.apply(RATE, t)
    programs = replica.programs(1)[1:]
    return steps(programs[0].device, programs[0].graphs), facts(replica, programs, held)


def steps(device, graphs):
    """Returns a call that replays the graphs `STEPS` times, then waits."""

    def call():
        with device.lock:
            for _ in range(STEPS):
                graphs.run()
            device.wait()

    return call


def from_lmdb(workload):
    """Returns (call, facts) of a pass over an LMDB: minibatches decoded, cropped, mirrored."""
    from tests.benchmarks.gpu.stored import Stored  # needs reader packages

    synthetic, facts = training(workload)
    times = [timed(synthetic) / STEPS for _ in range(5)]
    replica, stored = Replica(configuration(workload), "cuda"), Stored(workload)

    def call():
        for t, batch in enumerate(stored.minibatches(replica), 1):
            replica.step(batch, RATE, t)
        replica.programs(workload.batch)[1].device.wait()

    return call, facts | {"steps": stored.steps, "synthetic": median(times)}


def timed(call):
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def driver():
    return backends.get("cuda").device.driver


class Held:
    """Counts device memory allocated from now on and not freed."""

    def __init__(self, driver):
        self.bytes, self.allocate, driver.allocate = 0, driver.allocate, self.counting

    def counting(self, size):
        array = self.allocate(size)
        owner = array._shown.base  # freed with the last array in this memory
        weakref.finalize(owner, self.count, -size)
        self.count(size)
        return array

    def count(self, size):
        self.bytes += size


def facts(replica, programs, held):
    passes = [(step.flops, step.traffic) for program in programs for step in program.steps]
    found = {"parameters": replica.conf.parameter_count, "steps": STEPS, "passes": passes}
    return found | {"memory": held.bytes, "runs": programs[0].describe().splitlines()[0]}


def batch_of(workload):
    features, labels = workload.arrays()
    return Some({"features": features, "labels": labels.astype(np.int32)})


def main(name):
    workload = WORKLOADS[name]
    make = updating if name == "adam" else from_lmdb if workload.stored else training
    serve(partial(make, workload))


if __name__ == "__main__":
    main(*sys.argv[1:])
