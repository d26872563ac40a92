"""The table of `bench tables`: a line per workload and number of threads."""

import argparse
import sys
from statistics import median

from tests.benchmarks.cpu.load import Others
from tests.benchmarks.cpu.measures import sides
from tests.benchmarks.cpu.pairs import compared, in_turns
from tests.benchmarks.cpu.processes import OURS, Process, variables
from tests.benchmarks.peers.environment import python_of
from tests.benchmarks.tables.workloads import WORKLOADS

MODES = {"torch by field": "field", "torch one table": "one"}
BAR = 1.2  # minimum speedup in examples/s over torch's better mode
HEAD = "| workload | threads | examples/s | ms a step | {} | torch's best by ours | others |"


class Steps:
    """Measures the seconds per step in one process."""

    def __init__(self, name, workload, threads):
        package = "tests.benchmarks.tables"
        if name == OURS:
            command = [sys.executable, "-m", f"{package}.our_worker", workload]
        else:
            python = python_of("torch")
            command = [python, "-m", f"{package}.torch_worker", workload, MODES[name]]
        self.process = Process(command, variables(threads))
        self.facts, self.close = self.process.facts, self.process.close
        self.pids = [self.process.process.pid]
        self.process.ask(40)  # each batch several times, so that all rows exist

    def measure(self, burst):
        """Returns the mean over the steps that fit into `burst` seconds, as batches differ."""
        first = self.process.ask(1)[0]
        seconds = self.process.ask(max(12, min(600, round(burst / first))))
        return sum(seconds) / len(seconds)


def main(arguments=None):
    options = parser().parse_args(arguments)
    print(HEAD.format(" | ".join(MODES)), "|---" * (6 + len(MODES)) + "|", sep="\n", flush=True)
    for name in options.only or WORKLOADS:
        for threads in options.threads:
            print(row(name, threads, options), flush=True)


def row(name, threads, options):
    workload = WORKLOADS[name]

    def make(side):
        return Steps(side, name, threads)

    with sides(make, [OURS, *MODES]) as (running, failed):
        others = Others([pid for side in running.values() for pid in side.pids])
        found = in_turns(running, options.rounds, options.burst)
        cores = others.cores()
    result = compared(found)
    times = [1000 * median(found[side]) if side in found else failed[side] for side in MODES]
    cells = [
        f"{workload.title} b{workload.batch}, {workload.optimizer}",
        threads,
        f"{workload.batch / result['ours']:.0f}",
        f"{1000 * result['ours']:.2f}",
        *(f"{t:.2f}" if isinstance(t, float) else t for t in times),
        f"{result['against_best']:.2f} (bar {BAR})",
        f"{cores:.2f}",
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def parser():
    options = argparse.ArgumentParser(prog="bench tables", description=__doc__)
    options.add_argument("--only", choices=[*WORKLOADS], nargs="+", metavar="NAME")
    options.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options.add_argument("--rounds", type=int, default=7, help="turns of each side")
    options.add_argument("--burst", type=float, default=0.5, help="seconds of a turn")
    return options
