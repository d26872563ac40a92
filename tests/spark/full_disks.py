"""Fits on disks that fill up, in a mount namespace; prints the outcome of each as JSON.

    unshare --mount python -m tests.spark.full_disks FOLDER

mounts small disks below the folder: one for Spark, one for checkpoints.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

from sparkdl import AllReduceSGD, Checkpoints, NetworkConf, ParameterAveraging, SparkNetwork
from sparkdl.errors import SparkdlError
from sparkdl.layers import Dense, Output
from sparkdl.listeners import Listener
from sparkdl.spark.session import session
from sparkdl.training.saving.checkpoint import latest

SIZES = {"spark": "24m", "checkpoints": "6m"}
CONF = NetworkConf(input_shape=(784,), layers=[Dense(units=300), Output(units=10)])  # 0.9 MB
OPTIONS = {"workers": 2, "batch_size_per_worker": 10}
STAY = AllReduceSGD(updates_per_round=2, **OPTIONS)
DRIVER = ParameterAveraging(aggregation="driver", averaging_frequency=2, **OPTIONS)
FEW, MANY = 200, 20_000  # records; many take 63 MB


class Filler(Listener):
    """Fills a disk after some rounds, and refills what Spark frees, until it is closed."""

    def __init__(self, file, rounds=3):
        self.file, self.rounds, self.closed = file, rounds, threading.Event()
        self.thread = threading.Thread(target=self.fill, daemon=True)

    def on_round(self, report, state):
        self.rounds -= 1
        if not self.rounds:
            self.thread.start()
            while free(self.file.parent) > 1 << 14:
                time.sleep(0.01)

    def fill(self):
        with open(self.file, "wb", buffering=0) as out:
            while not self.closed.wait(0.01):
                with contextlib.suppress(OSError):
                    while True:
                        out.write(bytes(1 << 12))

    def close(self):
        self.closed.set()
        self.thread.join()
        self.file.unlink()


def free(folder):
    about = os.statvfs(folder)
    return about.f_bavail * about.f_frsize


def mount(folder):
    for name, size in SIZES.items():
        Path(folder, name).mkdir()
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", f"{folder}/{name}"], check=True
        )


def examples(rows, part):
    rng = np.random.default_rng(part)
    for _ in range(rows):
        yield rng.normal(size=784).astype(np.float32), int(rng.integers(10))


def fit(sc, master, rows=FEW, **options):
    """Returns the outcome of a fit: its epochs and restarts, or its error."""
    data = sc.parallelize(range(4), 4).flatMap(lambda part: examples(rows // 4, part))
    try:
        history = SparkNetwork(sc, CONF, master).fit(data, epochs=4, **options)
        return {"epochs": len(history.epochs), "restarts": len(history.restarts)}
    except SparkdlError as error:
        return {"error": type(error).__name__, "text": str(error)}


def main(folder):
    mount(folder)
    spark, kept = f"{folder}/spark", f"{folder}/checkpoints/net"
    with session("local-cluster[2,1,1024]", {"spark.local.dir": spark}) as running:
        print(json.dumps(fits(running.sparkContext, Path(spark, "filler"), kept)))


def fits(sc, file, kept):
    """Returns {case: outcome of its fit}; the fits run one after the other."""
    checkpoints = Checkpoints(path=kept, every_rounds=1, keep=50)
    found = {"checkpoints": fit(sc, STAY, checkpoints=checkpoints) | {"latest": latest(kept)}}
    for name, master in (("workers stay", STAY), ("the driver averages", DRIVER)):
        with contextlib.closing(Filler(file)) as filler:
            found[name] = fit(sc, master, listeners=[filler])
    found["more records than room"] = fit(sc, STAY, MANY)
    found["afterwards"] = fit(sc, STAY)
    return found


if __name__ == "__main__":
    main(sys.argv[1])
