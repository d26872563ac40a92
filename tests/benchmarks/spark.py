"""sparkdl against Elephas: the same networks, records, epochs and executors, in turns.

Both get the records as an RDD of (features, label) pairs. sparkdl averages every 5 minibatches, its
default, and once an epoch; Elephas averages once in all (synchronous), or exchanges with its
parameter server once an epoch (asynchronous). Its environment is made on the first run.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np

from sparkdl.data import digits
from tests.benchmarks.idx import read_idx
from tests.benchmarks.peers.environment import ROOT, python_of

BATCH = 64
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
    parser.add_argument("--backend", default="auto", help="sparkdl's: auto, onednn, reference")
    options = parser.parse_args(argv)
    python = python_of("elephas")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "digits.npz"
        records = write_data(data, options.mnist)
        for model in options.models:
            compare(python, model, data, records, options)


def compare(python, model, data, records, options):
    """Alternate runs of ours and of each mode of the peer; print medians and ratios."""
    arguments = [str(data), str(options.epochs)]
    ours = [sys.executable, "-m", "tests.benchmarks.spark_fit", model, *arguments]
    an_epoch = str(-(-records // (2 * BATCH)))
    commands = {
        "sparkdl": [*ours, "5", options.backend],
        "sparkdl, once an epoch": [*ours, an_epoch, options.backend],
    }
    commands |= {mode: [python, PEER, model, mode, *arguments] for mode in options.modes}
    runs = {name: [] for name in commands}
    for _ in range(options.repeats):
        for name, command in commands.items():
            runs[name].append(result(command))
    seconds = {name: median(run["seconds"] for run in found) for name, found in runs.items()}
    for name, found in runs.items():
        accuracy = median(run["accuracy"] for run in found)
        speed = records * options.epochs / seconds[name]
        text = f"{model:6} {name:22} {seconds[name]:6.1f} s {speed:7,.0f} records/s"
        print(f"{text}  accuracy {accuracy:.4f}{verdict(model, name, seconds)}", flush=True)


def verdict(model, name, seconds):
    """How many times as fast sparkdl was, at both frequencies, beside a peer."""
    if name.startswith("sparkdl"):
        return ""
    ratios = [f"{seconds[name] / seconds[ours]:.2f}x" for ours in seconds if "sparkdl" in ours]
    goal = GOALS.get((model, name))
    return f"  sparkdl is {' and '.join(ratios)} as fast" + (f" (goal {goal}x)" if goal else "")


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
        x = read_idx(mnist / "train-images-idx3-ubyte.gz")[:10_000]
        y = read_idx(mnist / "train-labels-idx1-ubyte.gz")[:10_000]
    np.savez(path, x=x.reshape(-1, 28, 28), y=y, xs=xs.reshape(-1, 28, 28), ys=ys)
    return len(x)


if __name__ == "__main__":
    main()
