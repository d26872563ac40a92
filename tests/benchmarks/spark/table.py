"""Runs the sides of each row alternately; prints medians and bars."""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from statistics import median

from tests.benchmarks.peers.environment import ROOT, python_of
from tests.benchmarks.peers.java_environment import java_of
from tests.benchmarks.spark.records import write_records
from tests.benchmarks.spark.rows import OURS, ROWS, command
from tests.benchmarks.spark.udf_side import write_images

LIMIT = 1_800  # seconds per run
IMAGES = 2_000


def main(arguments=None):
    options = parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        write_records(folder, options.mnist)
        if "images" in options.only:
            write_images(folder, IMAGES)
        for name in options.only:
            measure(ROWS[name], folder, options.repeats)


def measure(row, folder, repeats):
    """Prints a row: each side's figures, then each bar."""
    print(row.title, flush=True)
    runs = {side: [] for side in row.sides}
    for _ in range(repeats):
        for side, words in row.sides.items():
            runs[side].append(run(command(words, folder, python_of, java_of)))
    found = {side: medians(figures) for side, figures in runs.items()}
    for side, figures in found.items():
        print(f"  {side:22}", *(text(name, value) for name, value in figures.items()), flush=True)
    for bar in row.bars:
        print("   ", verdict(bar, found), flush=True)


def run(words):
    """Runs a command; returns the figures in its last line of JSON."""
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise SystemExit(f"{words} failed:\n{done.stderr[-3000:]}")
    return json.loads(lines[-1])


def medians(runs):
    return {name: median(figures[name] for figures in runs) for name in runs[0]}


def text(name, value):
    """Returns a figure with its unit: an accuracy, milliseconds of a step, or seconds."""
    if name == "accuracy":
        return f"accuracy {value:.4f}"
    return f"{name} {value * 1e3:.2f} ms" if name == "step" else f"{name} {value:.2f} s"


def verdict(bar, found):
    """Returns a line that compares our figure with its bar."""
    ours, limit = found[OURS][bar.figure], bar.limit(found)
    held = "held" if ours <= limit else "MISSED"
    ratio = f", {limit / bar.times / ours:.2f} times as fast" if bar.times != 1 else ""
    return f"{text(bar.figure, ours)}{ratio}; bar {text(bar.figure, limit)}, {bar}: {held}"


def parser():
    options = argparse.ArgumentParser(prog="bench spark", description=__doc__)
    options.add_argument("--mnist", type=Path, help="folder with MNIST's 60,000 training digits")
    options.add_argument("--repeats", type=int, default=3, help="runs of each side (3)")
    which = f"rows: some of {', '.join(ROWS)}"
    options.add_argument(
        "--only", nargs="+", choices=ROWS, default=[*ROWS], metavar="NAME", help=which
    )
    return options
