"""Overhead of listeners that log a fit: fits with and without them, alternating.

LeNet on digits with two local workers. With `--averaging-frequency 1` a round is one minibatch, so
events are as frequent as possible.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from sparkdl import LocalWorkers, Network, ParameterAveraging, Sgd, digits, zoo
from sparkdl.listeners import HtmlReport, RunLog, TensorBoard

AIM = 1.03  # wall-clock time with them, relative to without


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=5000)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--averaging-frequency", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args(argv)
    batch = digits("train").take(slice(options.records))
    frequency = options.averaging_frequency
    master = ParameterAveraging(batch_size_per_worker=64, averaging_frequency=frequency)
    data = batch.features.astype(np.float32) / 255, batch.labels
    print("fit            seconds   with / without   bytes of the run's folder in a round")
    ratios = []
    with LocalWorkers(2) as workers, tempfile.TemporaryDirectory() as folder:
        fit(data, options.epochs, master, workers, ())
        for turn in range(options.repeats):
            plain, _ = fit(data, options.epochs, master, workers, ())
            place = Path(folder, str(turn))
            written, rounds = fit(data, options.epochs, master, workers, listeners(place))
            ratios.append(written / plain)
            size = sum(file.stat().st_size for file in (place / "log").iterdir() if file.is_file())
            print(f"{turn}  {plain:6.2f} {written:6.2f} {ratios[-1]:12.3f} {size / rounds:12.0f}")
    print(f"median {median(ratios):.3f}, aim {AIM}")


def listeners(folder):
    os.mkdir(folder)
    report, events = HtmlReport(folder / "report.html"), TensorBoard(str(folder / "events"))
    return report, events, RunLog(str(folder / "log"))


def fit(data, epochs, master, workers, told):
    """Returns the seconds of a fit, and its rounds."""
    network = Network(zoo.lenet(optimizer=Sgd(learning_rate=0.01), seed=1))
    start = time.perf_counter()
    history = network.fit(data, epochs, master, workers, listeners=told)
    return time.perf_counter() - start, len(history.rounds)


if __name__ == "__main__":
    main()
