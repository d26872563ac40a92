"""sparkdl beside Elephas: the same networks, records, epochs and executors, runs in turn.

Both get the records as an RDD of (features, label) pairs. The environment of Elephas is made on
the first run.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np

from sparkdl.data import digits
from tests.benchmarks.peers.environment import ROOT, python_of

PEER = Path(__file__).parent / "peers" / "elephas_fit.py"
GOALS = {("lenet", "synchronous"): 5.0, ("lenet", "asynchronous"): 2.5}
GOALS |= {("mlp", "synchronous"): 10.0, ("mlp", "asynchronous"): 10.0}


def main(argv=None):
    parser = argparse.ArgumentParser(prog="bench spark", description=__doc__)
    parser.add_argument("--mnist", type=Path, help="folder with MNIST's 60,000 training digits")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--models", nargs="+", default=["lenet", "mlp"], choices=["lenet", "mlp"])
    parser.add_argument("--modes", nargs="+", default=["synchronous", "asynchronous"])
    options = parser.parse_args(argv)
    python = python_of("elephas")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "digits.npz"
        records = write_data(data, options.mnist)
        for model in options.models:
            compare(python, model, data, records, options)


def compare(python, model, data, records, options):
    """Alternate runs of ours and of each mode of the peer; print medians and ratios."""
    arguments = [model, str(data), str(options.epochs)]
    ours_command = [sys.executable, "-m", "tests.benchmarks.spark_fit", *arguments]
    rows = {name: [] for name in ["sparkdl", *options.modes]}
    for _ in range(options.repeats):
        rows["sparkdl"].append(result(ours_command))
        for mode in options.modes:
            rows[mode].append(result([python, PEER, model, mode, *arguments[1:]]))
    ours = median(run["seconds"] for run in rows["sparkdl"])
    for name, runs in rows.items():
        seconds = median(run["seconds"] for run in runs)
        accuracy = median(run["accuracy"] for run in runs)
        speed = records * options.epochs / seconds
        text = (
            f"{model:6} {name:22} {seconds:7.1f} s {speed:8,.0f} records/s  accuracy {accuracy:.4f}"
        )
        print(text + verdict(model, name, seconds / ours), flush=True)


def verdict(model, name, ratio):
    if name == "sparkdl":
        return ""
    return f"  sparkdl is {ratio:.2f}x as fast (goal {GOALS.get((model, name), 1.0)}x)"


def result(command):
    """The last line that a run prints, as JSON."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise SystemExit(f"{command} failed:\n{done.stderr[-3000:]}")
    return json.loads(lines[-1])


def write_data(path, mnist):
    """x, y to train on and xs, ys to evaluate on: MNIST's own, or the package's sample of it."""
    train, test = digits("train"), digits("test")
    x, y, xs, ys = train.features, train.labels, test.features, test.labels
    if mnist is not None:
        xs, ys = np.concatenate([x, xs]), np.concatenate([y, ys])
        x = idx(mnist / "train-images-idx3-ubyte.gz", 16)[: 10_000 * 784].reshape(-1, 1, 28, 28)
        y = idx(mnist / "train-labels-idx1-ubyte.gz", 8)[:10_000]
    np.savez(path, x=x.reshape(-1, 28, 28), y=y, xs=xs.reshape(-1, 28, 28), ys=ys)
    return len(x)


def idx(path, header):
    return np.frombuffer(gzip.open(path).read(), np.uint8, offset=header)


if __name__ == "__main__":
    main()
