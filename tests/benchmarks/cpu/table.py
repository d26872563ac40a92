"""The table of `bench cpu`: a line per workload and number of threads, printed as measured."""

import argparse
import json
import platform
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from tests.benchmarks.cpu import measures
from tests.benchmarks.cpu.processes import MODES, Failed, variables
from tests.benchmarks.cpu.row import HEAD, line
from tests.benchmarks.cpu.workloads import WORKLOADS
from tests.benchmarks.peers.environment import ROOT

ROUNDS, BURST = 9, 0.5


def main(arguments=None):
    options = parser().parse_args(arguments)
    if options.profile:
        profile(options.profile, options.threads)
        return
    print(f"{processor()}, Python {platform.python_version()}", line(HEAD), sep="\n", flush=True)
    rows = []
    for name in options.only or [*WORKLOADS, *measures.MEASURES]:
        try:
            for row in measured(name, options):
                rows.append(row)
                print(row, flush=True)
                save(rows, options.json)
        except Failed as error:
            print(f"{name}: {error}", flush=True)


def save(rows, path):
    """Writes all figures so far, if a file is given."""
    if path is not None:
        path.write_text(json.dumps([asdict(row) for row in rows], indent=1))


def measured(name, options):
    """Yields the rows of a name as they are measured."""
    if name in measures.MEASURES:
        yield from measures.MEASURES[name](options)
        return
    for threads in options.threads:
        yield from measures.steps(name, threads, options)


def profile(name, threads):
    """Profiles our kernels instead of printing the table."""
    for count in threads:
        print(f"\n{WORKLOADS[name].title}, threads: {count}", flush=True)
        command = [sys.executable, "-m", "tests.benchmarks.cpu.profile", name]
        subprocess.run(command, env=variables(count), cwd=ROOT, check=True)


def processor():
    """Returns the processor's model name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((x.partition(":")[2].strip() for x in lines if x.startswith("model name")), "")


def parser():
    options = argparse.ArgumentParser(prog="bench cpu", description=__doc__)
    names, modes = [*WORKLOADS, *measures.MEASURES], [*MODES]
    some = {"nargs": "+", "metavar": "NAME"}
    options.add_argument("--only", choices=names, **some, help=f"some of {', '.join(names)}")
    options.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options.add_argument(
        "--rounds", type=int, default=ROUNDS, help=f"turns of each side ({ROUNDS})"
    )
    options.add_argument("--burst", type=float, default=BURST, help=f"seconds of a turn ({BURST})")
    which = f"peers: some of {', '.join(modes)}"
    options.add_argument("--modes", choices=modes, default=modes, **some, help=which)
    ours = "instead of the table, our kernels by time"
    options.add_argument("--profile", choices=[*WORKLOADS], metavar="NAME", help=ours)
    options.add_argument("--json", type=Path, metavar="PATH", help="write all figures there")
    return options
