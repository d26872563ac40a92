"""Time of a search on two executors against half of its trials' compute time.

The first search starts the executors' Python processes, the second reuses them.
"""

import argparse
import time

import optuna

from sparkdl.data import Arrays, digits
from sparkdl.nn import Dense, NetworkConf, Output, Sgd
from sparkdl.nn.layers import Conv2D, Flatten, MaxPool2D
from sparkdl.spark.jobs.slots import slots
from sparkdl.transforms import Scale
from sparkdl.tune import Search
from tests.benchmarks.session import spark_session

LIMIT = 1.25


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args(argv)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with spark_session("local-cluster[2,1,2048]") as sc:
        slots(sc)  # waits for the executors
        for processes in ("new", "warm"):
            print(f"{processes} processes: {line(sc, options.trials, options.epochs)}", flush=True)


def line(sc, trials, epochs):
    scale = Scale(factor=1 / 255)
    train, test = (Arrays.of(digits(part), transform=scale) for part in ("train", "test"))
    sampler, pruner = optuna.samplers.RandomSampler(seed=1), optuna.pruners.NopPruner()
    study = optuna.create_study(sampler=sampler, pruner=pruner)
    search = Search(sc, define, study, epochs=epochs, device="cpu")
    began = time.perf_counter()
    search.fit(train, trials, validation=test)
    wall = time.perf_counter() - began
    compute = sum(trial.user_attrs["seconds"] for trial in study.trials) / 2
    finished = sum(trial.state.name == "COMPLETE" for trial in study.trials)
    return (
        f"{finished} of {trials} trials: {wall:.1f} s, compute of a half {compute:.1f} s, "
        f"ratio {wall / compute:.2f} (limit {LIMIT})"
    )


def define(trial):
    rate = trial.suggest_float("rate", 0.005, 0.1, log=True)
    units = trial.suggest_int("units", 50, 200)
    layers = [
        Conv2D(filters=20, kernel_size=5),
        MaxPool2D(size=2),
        Flatten(),
        Dense(units=units, activation="relu"),
        Output(units=10),
    ]
    return NetworkConf(input_shape=(1, 28, 28), layers=layers, optimizer=Sgd(learning_rate=rate))
