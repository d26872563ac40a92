"""sparkdl's side of the comparison: one fit on two executors; prints one line of JSON."""

import json
import sys
import time

import numpy as np

from sparkdl.nn import Conv2D, Dense, MaxPool2D, Nesterov, NetworkConf, Output
from sparkdl.spark import SparkNetwork
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from tests.benchmarks.session import spark_session


def network(model):
    nesterov = Nesterov(learning_rate=0.01)
    if model == "lenet":
        layers = [
            Conv2D(filters=20, kernel_size=5),
            MaxPool2D(size=2),
            Conv2D(filters=50, kernel_size=5),
        ]
        layers += [MaxPool2D(size=2), Dense(units=500, activation="relu"), Output(units=10)]
        return NetworkConf(input_shape=(1, 28, 28), optimizer=nesterov, seed=1, layers=layers)
    layers = [Dense(units=512, activation="relu"), Dense(units=512, activation="relu")]
    return NetworkConf(
        input_shape=(784,), optimizer=nesterov, seed=1, layers=[*layers, Output(units=10)]
    )


def main(model, path, epochs, frequency, backend):
    data, conf = np.load(path), network(model)
    x = (data["x"] / 255).astype(np.float32).reshape(-1, *conf.input_shape)
    xs = (data["xs"] / 255).astype(np.float32).reshape(-1, *conf.input_shape)
    with spark_session("local-cluster[2,1,1024]") as sc:
        rdd = sc.parallelize(list(zip(x, data["y"], strict=True)), 2)
        master = ParameterAveraging(averaging_frequency=int(frequency), backend=backend)
        net = SparkNetwork(sc, conf, master)
        began = time.time()
        history = net.fit(rdd, epochs=int(epochs))
        seconds = time.time() - began
        accuracy = float((net.network.predict(xs).argmax(axis=1) == data["ys"]).mean())
        print(history, file=sys.stderr)
        print(json.dumps({"seconds": seconds, "accuracy": accuracy}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
