"""sparkdl's side of a row: one process and session; prints figures as a line of JSON."""

import json
import multiprocessing
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

from sparkdl.data import Arrays, Parquet
from sparkdl.nn import zoo
from sparkdl.spark import SparkNetwork, predict_column
from sparkdl.training.fit.network_fit import fit_network
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.workers.local import LocalWorkers
from tests.benchmarks.session import spark_session
from tests.benchmarks.spark.bare_side import EXECUTORS, cold_and_warm, seconds_of
from tests.benchmarks.spark.networks import BATCH, network
from tests.benchmarks.spark.records import ROWS, read_pairs
from tests.benchmarks.spark.udf_side import decoded

FEW, IMAGES = 2_000, 8  # number of pairs; images per minibatch
NOTHING_KEPT = {"spark.sparkdl.keptData": "0"}  # of data cached for the next fit


class FirstStep(Listener):
    """Records when the first round began."""

    seconds = None

    def __init__(self):
        self.began = time.perf_counter()

    def on_round(self, report, state):
        if self.seconds is None:
            self.seconds = time.perf_counter() - self.began - sum(report.seconds.values())


def fit_pairs(folder, model, epochs):
    """Fits pairs with default options."""
    conf = network(model)
    pairs, xs, ys = read_pairs(folder, conf.input_shape)
    with spark_session(EXECUTORS) as sc:
        net = SparkNetwork(sc, conf)
        seconds = seconds_of(lambda: net.fit(sc.parallelize(pairs, 2), epochs=int(epochs)))
    return {"seconds": seconds, "accuracy": accuracy(net, xs, ys)}


def fit_frame(folder, epochs):
    """Fits a DataFrame with default options."""
    conf = network("lenet")
    _, xs, ys = read_pairs(folder, conf.input_shape)
    with spark_session(EXECUTORS) as sc:
        net = SparkNetwork(sc, conf)
        seconds = seconds_of(lambda: net.fit(frame_of(folder), epochs=int(epochs)))
    return {"seconds": seconds, "accuracy": accuracy(net, xs, ys)}


def accuracy(net, xs, ys):
    return float((net.network.predict(xs).argmax(axis=1) == ys).mean())


def frame_of(folder):
    return SparkSession.builder.getOrCreate().read.parquet(rows_of(folder))


def rows_of(folder):
    return str(Path(folder) / "rows.parquet")


def first_step_of_frame(folder):
    """Measures from `fit` of a DataFrame to the first step, cold and warm."""
    with spark_session(EXECUTORS, **NOTHING_KEPT) as sc:
        return first_steps(sc, frame_of(folder))


def first_step_of_files(folder):
    """Measures from `fit` of Parquet files, read by executors, to the first step."""
    with spark_session(EXECUTORS, **NOTHING_KEPT) as sc:
        return first_steps(sc, Parquet(rows_of(folder)))


def first_steps(sc, data):
    """Returns the seconds to the first step of a first fit, and the least of two more fits.

    Each fit trains a new MLP and reads its data anew, as nothing is cached.
    """
    cold, *warm = (first_step(sc, data) for _ in range(3))
    return {"cold": cold, "warm": min(warm)}


def first_step(sc, data):
    listener = FirstStep()
    SparkNetwork(sc, network("mlp")).fit(data, updates=10, listeners=[listener])
    return listener.seconds


def fit_few(folder):
    """Fits a few pairs in a cold session; then measures a second fit up to its first step."""
    pairs, _, _ = read_pairs(folder, (784,))
    with spark_session(EXECUTORS) as sc:
        data = sc.parallelize(pairs[:FEW], 2)
        cold = seconds_of(lambda: SparkNetwork(sc, network("mlp")).fit(data))
        return {"cold": cold, "second": first_step(sc, data)}


def step_in_executors(folder):
    """Measures LeNet's seconds per step on two executors."""
    pairs, _, _ = read_pairs(folder, (1, 28, 28))
    with spark_session(EXECUTORS) as sc:
        return step_of(SparkNetwork(sc, network("lenet")).fit(sc.parallelize(pairs, 2), epochs=3))


def step_alone(folder):
    """Measures the same in a single process on an idle machine."""
    pairs, _, _ = read_pairs(folder, (1, 28, 28))
    x, y = map(np.array, zip(*pairs, strict=True))
    data = Arrays(x, y)
    master = ParameterAveraging(workers=1)
    net, workers = Network(network("lenet")), LocalWorkers(1, threads=1)
    return step_of(fit_network(net, data, master, workers, 3))


def step_of(history):
    """Returns the workers' mean seconds per step after the first epoch."""
    reports = [report for report in history.rounds if report.epoch > 0]
    figures = [worker for report in reports for worker in report.by_worker]
    steps = sum(worker.examples for worker in figures) / BATCH
    return {"step": sum(worker.compute for worker in figures) / steps}


def predict_frame(folder, keep=None):
    """Predicts a DataFrame, discarding the predictions, cold and warm.

    `keep` is the only column to keep; by default all are kept.
    """
    with spark_session(EXECUTORS) as sc:
        net, frame = SparkNetwork(sc, network("lenet")), frame_of(folder)

        def predict():
            net.predict(frame, keep=keep).write.format("noop").mode("overwrite").save()

        return cold_and_warm(predict)


def predict_alone(folder):
    """Predicts without Spark: two single-threaded processes, each with half of the rows."""
    os.environ["OMP_NUM_THREADS"] = "1"
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, spawn, initializer=load_half, initargs=[folder]) as pool:
        return cold_and_warm(lambda: list(pool.map(predict_half, range(2))))


def predict_images(folder):
    """Scores a folder of JPEGs with ResNet-50 into Parquet."""
    with spark_session(EXECUTORS), tempfile.TemporaryDirectory() as output:
        spark = SparkSession.builder.getOrCreate()
        files = spark.read.format("binaryFile").load(f"{folder}/images").repartition(4)
        net = Network(zoo.resnet50())
        scored = predict_column(files, net, prepare=images, keep="path", batch_size=IMAGES)
        return {"seconds": seconds_of(lambda: scored.write.parquet(f"{output}/scores"))}


def images(columns):
    """Returns the network's features of compressed images, for `predict_column`."""
    return {"features": decoded(columns["content"])}


def load_half(folder):
    """Loads half of the rows and the network into this process."""
    global half
    pairs, _, _ = read_pairs(folder, (1, 28, 28))
    x = np.stack([features for features, _ in pairs])
    half = Network(network("lenet")), np.concatenate([x] * (ROWS // 2 // len(x)))


def predict_half(_):
    net, x = half
    net.predict(x)


SIDES = {
    side.__name__: side
    for side in (
        fit_pairs,
        fit_frame,
        first_step_of_frame,
        first_step_of_files,
        fit_few,
        step_in_executors,
        step_alone,
        predict_frame,
        predict_alone,
        predict_images,
    )
}

if __name__ == "__main__":
    print(json.dumps(SIDES[sys.argv[1]](*sys.argv[2:])), flush=True)
