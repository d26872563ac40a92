"""Held-out records and class weights on Spark: RDDs and DataFrames behave alike."""

import numpy as np
import pytest

from sparkdl.nn import Output
from sparkdl.spark.network import SparkNetwork
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from tests.training.problems import softmax_net

MASTER = ParameterAveraging(aggregation="driver", batch_size_per_worker=8, workers=2)


@pytest.mark.parametrize("kind", ["rdd", "frame"])
def test_a_part_is_held_out(spark, sc, kind):
    x = np.random.default_rng(3).normal(size=(120, 4)).round(3)
    pairs = [(row.tolist(), int(row[0] > 0)) for row in x]
    data = sc.parallelize(pairs, 3)
    if kind == "frame":
        data = spark.createDataFrame(data, "features array<double>, label int")
    net = SparkNetwork(sc, softmax_net(layers=[Output(units=2)]), MASTER)
    options = {"validation_split": 0.25, "class_weight": {1: 2.0}}
    [epoch] = net.fit(data, **options).epochs
    assert epoch.examples + epoch.validation.examples == 120
    assert 15 < epoch.validation.examples < 45
    assert net.fit(data, **options).epochs[0].examples == epoch.examples, "the same ones"
