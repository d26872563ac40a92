"""Small networks and DataFrames for the tests of pyspark.ml's stages."""

import numpy as np
from pyspark.ml.linalg import Vectors

from sparkdl.nn import Adam, Dense, GraphBuilder, Merge, NetworkConf, Output

WIDTH, CLASSES = 4, 3


def classes_conf(units=CLASSES, **output):
    layers = [Dense(units=5, activation="tanh"), Output(units=units, **output)]
    return NetworkConf(
        input_shape=(WIDTH,), layers=layers, optimizer=Adam(learning_rate=0.05), seed=4
    )


def values_conf(units=1):
    return classes_conf(units, loss="mse")


def two_inputs(units=CLASSES, **output):
    """Returns a graph with the inputs left (2,) and right (3,) and one output."""
    build = GraphBuilder(left=(2,), right=(3,))
    build.add(Dense(units=4, activation="tanh"), "left", name="dense")
    build.add(Merge(), "dense", "right", name="both")
    build.add(Output(units=units, **output), "both", name="kind")
    return build.conf(optimizer=Adam(learning_rate=0.05), seed=3)


def arrays(n=60):
    """Returns features (n, 4), and classes (n,) that depend on them."""
    x = np.random.default_rng(0).normal(size=(n, WIDTH))
    return x, x[:, :CLASSES].argmax(axis=1)


def frame(spark, n=60):
    """Returns a DataFrame with `features`, vectors that are sparse in odd rows, and more."""
    x, y = arrays(n)
    rows = [
        (i, vector(i, a), float(k), "xyz"[k], float(k > 0), a[:2].tolist(), 0.5 * (i % 3), i > 40)
        for i, (a, k) in enumerate(zip(x, y))
    ]
    names = ["id", "features", "label", "kind", "yes", "two", "w", "apart"]
    return spark.createDataFrame(rows, names)


def vector(i, x):
    return Vectors.sparse(len(x), dict(enumerate(x))) if i % 2 else Vectors.dense(x)


def by_id(frame, *names):
    """Returns the values of columns as arrays, in the order of `id`.

    Sorting here avoids Spark's orderBy, which would compute the rows twice to sample ids.
    """
    rows = sorted(frame.select("id", *names).collect(), key=lambda row: row["id"])
    return [np.array([to_array(row[name]) for row in rows]) for name in names]


def to_array(value):
    return value.toArray() if hasattr(value, "toArray") else value
