"""The table of `bench forward`: a line per workload and number of threads."""

import argparse
import json
import platform
from dataclasses import asdict
from functools import partial
from pathlib import Path

from tests.benchmarks.cpu.load import Others
from tests.benchmarks.cpu.measures import sides
from tests.benchmarks.cpu.pairs import in_turns
from tests.benchmarks.cpu.processes import OURS, Failed
from tests.benchmarks.cpu.row import HEAD, Row, line
from tests.benchmarks.cpu.table import processor
from tests.benchmarks.cpu.workloads import WORKLOADS
from tests.benchmarks.forward.sides import MODES, Predictions, fastest

NAMES = ("lenet", "cifar10_quick", "resnet50", "mlp_128", "mlp_32", "char_lstm")
BAR = 1.1
ROUNDS, BURST = 15, 0.3


def main(arguments=None):
    options = parser().parse_args(arguments)
    print(f"{processor()}, Python {platform.python_version()}", line(HEAD), sep="\n", flush=True)
    rows = []
    for name in options.only:
        for threads in options.threads:
            try:
                rows.append(measured(name, threads, options))
                print(rows[-1], flush=True)
            except Failed as error:
                print(f"{name}: {error}", flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))


def measured(name, threads, options):
    """Measures a workload and returns its row."""
    make = partial(Predictions, workload=name, threads=threads)
    with sides(make, [OURS, *options.modes]) as (running, failed):
        others = Others([pid for side in running.values() for pid in side.pids])
        found = in_turns(running, options.rounds, options.burst)
        figures = {"found": found, "result": fastest(found), "others": others.cores()}
    return Row(title=WORKLOADS[name].title, threads=threads, failed=failed, best=BAR, **figures)


def parser():
    options = argparse.ArgumentParser(prog="bench forward", description=__doc__)
    some = {"nargs": "+", "metavar": "NAME"}
    which = f"some of {', '.join(NAMES)}"
    options.add_argument("--only", choices=NAMES, default=NAMES, **some, help=which)
    options.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options.add_argument(
        "--rounds", type=int, default=ROUNDS, help=f"turns of each side ({ROUNDS})"
    )
    options.add_argument("--burst", type=float, default=BURST, help=f"seconds of a turn ({BURST})")
    modes = [*MODES]
    peers = f"peers: some of {', '.join(modes)}"
    options.add_argument("--modes", choices=modes, default=modes, **some, help=peers)
    options.add_argument("--json", type=Path, metavar="PATH", help="write all figures there")
    return options
