"""The table of `bench onnx_files`: a line per network and number of threads."""

import argparse
import sys
from functools import partial

from tests.benchmarks.cpu.load import Others
from tests.benchmarks.cpu.measures import sides
from tests.benchmarks.cpu.pairs import in_turns
from tests.benchmarks.cpu.processes import OURS, Failed, Process, variables
from tests.benchmarks.cpu.row import HEAD, Row, line
from tests.benchmarks.forward.sides import Predictions, fastest
from tests.benchmarks.onnx_files.nets import NETS, path_of

RUNTIME = "onnxruntime"
BAR = 1.0
ROUNDS, BURST = 15, 0.3


class Computations(Predictions):
    """Measures one side's seconds for a network."""

    def __init__(self, name, net, threads):
        words = [sys.executable, "-m", "tests.benchmarks.onnx_files.worker", name, net]
        self.process = Process(words, variables(threads))
        self.facts, self.close = self.process.facts, self.process.close
        self.pids = [self.process.process.pid]


def main(arguments=None):
    options = parser().parse_args(arguments)
    path_of(options.only[0])  # creates the environment before anything is timed
    print(line(HEAD), flush=True)
    for name in options.only:
        for threads in options.threads:
            try:
                print(measured(name, threads, options), flush=True)
            except Failed as error:
                print(f"{name}: {error}", flush=True)


def measured(name, threads, options):
    """Measures a network and returns its row."""
    make = partial(Computations, net=name, threads=threads)
    with sides(make, [OURS, RUNTIME]) as (running, failed):
        others = Others([pid for side in running.values() for pid in side.pids])
        found = in_turns(running, options.rounds, options.burst)
        figures = {"found": found, "result": fastest(found), "others": others.cores()}
        apart = running[OURS].facts["apart"] if OURS in running else float("nan")
    return Row(title=f"{name} ({apart:.0e})", threads=threads, failed=failed, best=BAR, **figures)


def parser():
    options = argparse.ArgumentParser(prog="bench onnx_files")
    options.add_argument("--only", choices=NETS, default=[*NETS], nargs="+", metavar="NAME")
    options.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options.add_argument("--rounds", type=int, default=ROUNDS, help=f"turns ({ROUNDS})")
    options.add_argument("--burst", type=float, default=BURST, help=f"seconds of one ({BURST})")
    return options
