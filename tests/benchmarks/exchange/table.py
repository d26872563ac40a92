"""The report of `bench exchange`, a line per measurement, printed as it completes."""

import argparse
import json
import platform
from dataclasses import asdict
from functools import partial
from pathlib import Path

from tests.benchmarks.cpu.processes import Failed
from tests.benchmarks.cpu.table import processor
from tests.benchmarks.exchange import (
    all_reduce,
    averaging_round,
    coding,
    convergence,
    overlap,
    prediction,
)
from tests.benchmarks.exchange.row import Bar, Row

ROUNDS, BURST = 7, 0.5
MEASURES = {
    "all_reduce_2": partial(all_reduce.measure, 2),
    "all_reduce_4": partial(all_reduce.measure, 4),
    "averaging_round": averaging_round.measure,
    "overlap": overlap.measure,
    "coding": coding.measure,
    "convergence": convergence.measure,
    "prediction": prediction.measure,
}


def main(arguments=None):
    options = parser().parse_args(arguments)
    print(f"{processor()}, Python {platform.python_version()}", flush=True)
    rows = []
    for name in options.only or MEASURES:
        for row in made(name, options):
            rows.append(row)
            print(row, flush=True)
            save(rows, options.json)
    missed = [row.title for row in rows if any(bar.missed for bar in row.bars)]
    print(f"bars missed: {', '.join(missed) or 'none'}")


def made(name, options):
    """Yields the rows of a measurement as they complete, and a last one if it fails."""
    try:
        yield from MEASURES[name](options)
    except Failed as error:
        failed = Bar(what=str(error)[:160], value=None, bound=0.0)
        yield Row(title=name, ours="failed", bars=(failed,))


def save(rows, path):
    """Writes all figures so far, if a file is given."""
    if path is not None:
        path.write_text(json.dumps([asdict(row) for row in rows], indent=1))


def parser():
    options = argparse.ArgumentParser(prog="bench exchange", description=__doc__)
    some = {"nargs": "+", "metavar": "NAME"}
    which = f"some of {', '.join(MEASURES)}"
    options.add_argument("--only", choices=[*MEASURES], **some, help=which)
    sides = [*all_reduce.SIDES]
    which = f"of the all-reduce, some of {', '.join(sides)}"
    options.add_argument("--sides", choices=sides, default=sides, **some, help=which)
    options.add_argument(
        "--rounds", type=int, default=ROUNDS, help=f"turns of each side ({ROUNDS})"
    )
    options.add_argument("--burst", type=float, default=BURST, help=f"seconds of a turn ({BURST})")
    options.add_argument("--json", type=Path, metavar="PATH", help="write all figures there")
    return options
