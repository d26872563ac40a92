"""Profile of our training step by call: the kernel, its speed, its share of the peak.

`bench cpu --profile` starts it in a new process for each number of threads.
"""

import sys
from collections import defaultdict
from statistics import median
from typing import NamedTuple

from sparkdl.engine.peak import peak
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.execution.timing import Pass, profile_steps
from tests.benchmarks.cpu.our_networks import configuration
from tests.benchmarks.cpu.our_worker import maker
from tests.benchmarks.cpu.worker import timed
from tests.benchmarks.cpu.workloads import WORKLOADS

LINES, REPEATS = 30, 10
HEAD = ("ms", "% of all", "GFLOP/s", "% of peak", "GB/s", "kernel")


class Calls(NamedTuple):
    """One or more calls of a program: their time and FLOPs, bytes, and description."""

    took: Pass
    traffic: int
    what: str


def main(name):
    workload = WORKLOADS[name]
    step, _ = maker(workload)()
    step()
    seconds = median(timed(step) for _ in range(REPEATS))
    calls, best = list(calls_of(workload)), peak()
    total = together([one for one, _ in calls], "total")
    print(f"a step of {seconds * 1e3:.2f} ms, its calls {total.took.seconds * 1e3:.2f} ms")
    print(f"a matrix product reaches {best / 1e9:.0f} GFLOP/s")
    kinds = defaultdict(list)
    for one, kind in calls:
        kinds[kind].append(one)
    show([together(some, f"{len(some)} x {kind}") for kind, some in kinds.items()], total, best)
    show([one for one, _ in calls], total, best)


def calls_of(workload):
    """Yields (Calls, kind) of each call of a step."""
    gradient, update = Replica(configuration(workload)).programs(workload.batch)
    programs = [update] if workload.network == "adam" else [gradient, update]
    for program in programs:
        for step, took in profile_steps(program, REPEATS):
            what = f"{step.scope:22} {step.op}: {step.kernel}  {step.shapes}"
            note = f"  ({step.note})" if step.note else ""
            yield Calls(took, step.traffic, what + note), f"{step.op}: {step.kernel}"


def together(calls, what):
    took = sum((one.took for one in calls), Pass())
    return Calls(took, sum(one.traffic for one in calls), what)


def show(calls, total, best):
    """Prints the slowest calls, and the rest in one line."""
    ordered = sorted(calls, key=lambda one: -one.took.seconds)
    shown, rest = ordered[:LINES], ordered[LINES:]
    print("\n" + line(HEAD))
    for one in [*shown, *[together(rest, f"{len(rest)} more")] * bool(rest), total]:
        print(line(cells(one, total, best)))


def cells(one, total, best):
    """Returns the cells of a line: FLOP/s for products, bytes per second for all else."""
    seconds, flops = one.took.seconds, one.took.flops
    speed = flops / seconds
    return (
        f"{seconds * 1e3:.3f}",
        f"{seconds / total.took.seconds:.1%}",
        f"{speed / 1e9:.0f}" if flops else "",
        f"{speed / best:.0%}" if flops else "",
        "" if flops else f"{one.traffic / seconds / 1e9:.1f}",
        one.what,
    )


def line(cells):
    *numbers, what = cells
    return " ".join([*(number.rjust(9) for number in numbers), f" {what}"])


if __name__ == "__main__":
    main(*sys.argv[1:])
