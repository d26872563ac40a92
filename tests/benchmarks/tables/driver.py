"""Peak memory of driver and workers, and seconds of a fit, saving rows to the driver or to files.

Two workers train a table of the requested size, each id once per epoch, and save it after each
epoch. Each way runs in its own driver process.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

from sparkdl import AdaGrad, AllReduceSGD, EmbeddingBag, GraphConf, Output, Vertex
from sparkdl.training.network import Network
from sparkdl.training.workers.local import LocalWorkers

MB = 2**20
WAYS = "driver", "files"
DIMENSION, BATCH, EPOCHS = 16, 4096, 2


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=2e6)
    parser.add_argument("--measure", choices=WAYS, help="in this process; prints JSON")
    options = parser.parse_args(argv)
    if options.measure:
        print(json.dumps(measure(options.measure, int(options.rows))))
        return
    state = options.rows * (8 + 4 * DIMENSION * 2) / MB
    print(f"{options.rows:.0f} rows with what AdaGrad keeps are {state:.0f} MB")
    for way in WAYS:
        command = [sys.executable, "-m", "tests.benchmarks.tables.driver"]
        command += ["--measure", way, "--rows", str(options.rows)]
        lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        figures = json.loads(lines.splitlines()[-1])
        print(f"rows go to {way:>6}: {', '.join(f'{n} {v:.0f}' for n, v in figures.items())}")


def measure(way, rows):
    """Returns MB of the driver before the fit, its peak and a worker's, and seconds."""
    ids = np.random.default_rng(0).permutation(rows)[:, None] * 40
    data = {"features": ids}, (ids[:, 0] % 2).astype(np.int32)
    with tempfile.TemporaryDirectory() as folder, LocalWorkers(2) as workers:
        own = folder if way == "files" else None
        master = AllReduceSGD(
            tables="sharded", table_folder=own, batch_size_per_worker=BATCH, updates_per_round=50
        )
        net, before, start = Network(network()), peak(), time.perf_counter()
        net.fit(data, epochs=EPOCHS, master=master, workers=workers)
        seconds = time.perf_counter() - start
        largest = max(worker.memory for worker in net.history.by_worker())
        figures = {"MB of the driver before": before, "at most": peak()}
        del net
    return figures | {"of a worker": largest / MB, "seconds": seconds}


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def network():
    bags = [EmbeddingBag(name="user", dimension=DIMENSION)]
    out = Vertex(name="out", layer=Output(units=2), inputs="user")
    return GraphConf(bags=bags, vertices=[out], optimizer=AdaGrad(learning_rate=0.1))


if __name__ == "__main__":
    main(sys.argv[1:])
