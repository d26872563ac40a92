"""LeNet on all 60,000 MNIST digits: accuracy on the 10,000 test digits, seconds per epoch."""

import argparse
import time
from pathlib import Path

import numpy as np

from sparkdl.data import Arrays, Scale
from sparkdl.nn import CosineSchedule, Nesterov, zoo
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.workers.local import LocalWorkers
from tests.benchmarks.idx import read_idx

GOAL = 0.99


def main(argv=None):
    parser = argparse.ArgumentParser(prog="bench mnist", description=__doc__)
    parser.add_argument("mnist", type=Path, help="folder with the four files of MNIST, gzipped")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(argv)
    train, test = (digits(options.mnist, part) for part in ("train", "t10k"))
    steps = options.epochs * -(-len(train.features) // (64 * options.workers))
    optimizer = Nesterov(learning_rate=CosineSchedule(initial=0.02, steps=steps, final=1e-4))
    net = Network(zoo.lenet(optimizer=optimizer, l2=5e-4, seed=1))
    master = ParameterAveraging(batch_size_per_worker=64, averaging_frequency=20)
    began = time.perf_counter()
    with LocalWorkers(options.workers) as workers:
        history = net.fit(train, options.epochs, master, workers, validation=test)
    each = (time.perf_counter() - began) / options.epochs
    reached = net.evaluate(test).accuracy
    goal = "reached" if reached >= GOAL else "missed"
    print(history, "", sep="\n")
    print(f"{each:.1f} s an epoch with everything; accuracy {reached:.4f}: {GOAL} {goal}")


def digits(folder, part):
    """Returns one part of the digits, scaled to [0, 1] by the workers."""
    images = read_idx(folder / f"{part}-images-idx3-ubyte.gz").reshape(-1, 1, 28, 28)
    labels = read_idx(folder / f"{part}-labels-idx1-ubyte.gz").astype(np.int32)
    return Arrays(images, labels, transform=Scale(factor=1 / 255))


if __name__ == "__main__":
    main()
