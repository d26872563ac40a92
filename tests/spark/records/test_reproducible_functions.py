"""Which Python functions are certain to give the same results each time."""

import datetime
import json
import math
import operator
import os
import random
import time
import uuid
from collections import defaultdict, deque
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyspark import SparkFiles as Sent
from pyspark import cloudpickle
from pyspark.sql import Row

from sparkdl.data import Csv
from sparkdl.spark.records.reproducible_functions import is_command_reproducible, is_reproducible

FACTORS = np.arange(3)
COUNT = 0


def scale(row):
    return [x * FACTORS[1] for x in row]


def call(function, row):
    return function(row)


def read(row):
    return Path(row).read_text()


def count(row):
    global COUNT
    COUNT += 1
    return COUNT


def imports(row):
    import requests

    return requests.get(row)


def computes_after_an_import(row):
    from math import sqrt

    return sqrt(row)


def fresh(row):
    return np.random.rand() + row


class Parser:
    def __call__(self, row):
        return open(row).read()


class Missing(dict):
    def __missing__(self, key):
        return read(key)


class Files(tuple):
    __slots__ = ()

    def text(self):
        return read(self[0])


class Noise(float):
    def __radd__(self, other):
        return other + random.random()


class Held:
    def __init__(self, function):
        self.function = function


Held.__module__ = "sparkdl.data.transforms"
KNOWN = {
    "arithmetic": lambda row: (row[0] + 1, max(row[1], 2)),
    "a function": scale,
    "a function of a function": lambda row: [scale(each) for each in row],
    "a function given": partial(call, scale),
    "numpy": lambda row: np.asarray(row, np.float32).mean(axis=0),
    "math": lambda row: math.log(row) + computes_after_an_import(row),
    "json": lambda line: json.loads(line)["x"],
    "functions in C": partial(map, operator.add),
    "pandas": lambda row: pd.DataFrame(row).mean(),
    "a Row": lambda row: Row(features=row[0], label=row[1]),
    "a method": "a b".split,
    "a parsed time": lambda row: datetime.datetime.strptime(row, "%Y"),
    "functions of numpy": lambda row: np.add(row, np.absolute(FACTORS)),
    "a function for each number": np.vectorize(scale),
    "containers": partial(call, defaultdict(list, a=deque([scale, np.float64(1)]))),
    "an array of objects": np.array([scale, "a"], object),
    "columns named like functions": lambda row: (row.id, row.open),
}
OPEN = {
    "a file": lambda row: open(row),  # noqa: SIM115
    "builtins by their names": lambda row: getattr(row[0], row[1])(),
    "pandas's file": lambda row: pd.read_csv(row),
    "numpy's file given": partial(call, np.load),
    "numpy's random numbers given": partial(call, np.random.rand),
    "a file opened by whom it is given to": partial(call, open),
    "a file in a function": lambda row: [read(each) for each in row],
    "a function given": partial(call, read),
    "a path": lambda row: Path(row).exists(),
    "an array's file": lambda row: np.load(row),
    "an environment": lambda row: os.environ["HOME"] + row,
    "a clock": lambda row: row + time.time(),
    "the date": lambda row: (row, datetime.datetime.now()),
    "random numbers": lambda row: row + random.random(),
    "random numbers of numpy": fresh,
    "a number each time": lambda row: (row, uuid.uuid4()),
    "state": count,
    "another library": imports,
    "a class of the user": Parser(),
    "an opened file": partial(call, Path("a").open),
    "a source": Csv("a").read,
    "held by an object of ours": partial(call, Held(read)),
    "in a list": [scale, read],
    "in a queue": deque([read]),
    "in an array": np.array([read], object),
    "called for missing keys": defaultdict(time.time),
    "called for each number": np.vectorize(read),
    "a dictionary of the user": Missing(),
    "a tuple of the user": Files("a"),
    "a number of the user": Noise(1.0),
    "a text that numpy reads as the time": lambda row: row - np.datetime64("now"),
    "a text that pandas reads as the date": lambda row: pd.Timestamp("Today") - row,
    "a file sent by Spark": lambda row: Sent.get(row),
}


@pytest.mark.parametrize("case", KNOWN)
def test_known(case):
    assert is_reproducible(KNOWN[case])
    assert is_command_reproducible(cloudpickle.dumps((KNOWN[case], None)))


@pytest.mark.parametrize("case", OPEN)
def test_open(case):
    assert not is_reproducible(OPEN[case])
    assert not is_command_reproducible(cloudpickle.dumps((OPEN[case], None)))


def test_a_function_for_each_object():
    assert not is_reproducible(np.frompyfunc(lambda row: row + time.time(), 1, 1))


def test_what_cannot_be_loaded_is_open():
    assert not is_command_reproducible(b"no pickle")


def test_broadcasts_have_fixed_values(sc):
    values = sc.broadcast([1, 2])
    data = sc.parallelize([0]).map(lambda row: values.value[row])
    command = cloudpickle.dumps((data.func, None))
    assert is_reproducible(data.func)
    assert is_command_reproducible(command)
    assert not is_command_reproducible(cloudpickle.dumps(values))  # the function is in it
    assert data.collect() == [1]


def test_functions_that_call_each_other():
    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    assert is_reproducible(even)
