"""Small search spaces and data for the tests of searches."""

import optuna

from sparkdl.data import Arrays
from sparkdl.nn import Dense, NetworkConf, Output, Sgd
from tests.ml.frames import CLASSES, WIDTH, arrays

GOOD, POOR = 0.5, 1e-6
SPLIT = 30  # records


def conf_of(rate, units=CLASSES, **output):
    layers = [Dense(units=5, activation="relu"), Output(units=units, **output)]
    options = {"optimizer": Sgd(learning_rate=rate), "seed": 4}
    return NetworkConf(input_shape=(WIDTH,), layers=layers, **options)


def define(trial):
    return conf_of(trial.suggest_float("rate", 1e-7, 1e30))


def data(n=60, **options):
    return Arrays(*arrays(n), records_per_split=SPLIT, **options)


def study_of(*rates, direction="minimize", **options):
    """Returns a study whose first trials use these learning rates."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(direction=direction, sampler=sampler, **options)
    for rate in rates:
        study.enqueue_trial({"rate": rate})
    return study


def states(study):
    """Returns the names of the trials' states."""
    return [trial.state.name for trial in study.trials]
