"""A DataFrame, and models fitted once for all tests of pyspark.ml's stages."""

import pytest

from sparkdl.ml import SparkNetworkClassifier, SparkNetworkRegressor
from sparkdl.transforms import Scale
from tests.ml.frames import classes_conf, frame, values_conf

SMALL = {"batchSize": 10, "numWorkers": 2}


@pytest.fixture(scope="session")
def data(spark):
    return frame(spark)


@pytest.fixture(scope="session")
def indexed(data):
    """The data with an index of a text label, whose names are in the column's metadata."""
    from pyspark.ml.feature import StringIndexer

    return StringIndexer(inputCol="kind", outputCol="index").fit(data).transform(data)


@pytest.fixture(scope="session")
def classified(indexed):
    """A model of three named classes, with weights, validation and preprocessing."""
    options = {"weightCol": "w", "validationIndicatorCol": "apart", "seed": 7}
    options |= {"preprocessing": Scale(factor=2.0), "labelCol": "index"}
    return SparkNetworkClassifier(network=classes_conf(), maxIter=2, **options, **SMALL).fit(
        indexed
    )


@pytest.fixture(scope="session")
def answered(data):
    """A binary classifier with one output."""
    conf = classes_conf(1, loss="sigmoid_cross_entropy")
    return SparkNetworkClassifier(network=conf, labelCol="yes", maxIter=3, **SMALL).fit(data)


@pytest.fixture(scope="session")
def estimated(data):
    """A regressor with two outputs."""
    return SparkNetworkRegressor(network=values_conf(2), labelCol="two", maxIter=2, **SMALL).fit(
        data
    )
