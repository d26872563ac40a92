"""Networks with several inputs and outputs, or on sequences, as stages of pyspark.ml."""

import numpy as np
import pytest
from pyspark.sql import functions as F

from sparkdl.errors import ConfigError
from sparkdl.ml import SparkNetworkClassifier, SparkNetworkEstimator, SparkNetworkModel
from sparkdl.nn import GraphBuilder, Merge, NetworkConf, Output, RnnOutput, zoo
from sparkdl.spark import SparkNetwork
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from tests.ml.conftest import SMALL
from tests.ml.frames import arrays, by_id
from tests.ml.test_columns import branches, sole_bag
from tests.training.models import assert_equal


@pytest.fixture(scope="module")
def parts(data):
    """A DataFrame with id, two columns of features, and two columns of labels."""
    from pyspark.ml.functions import vector_to_array

    x = vector_to_array("features")
    return data.select("id", F.slice(x, 1, 2).alias("a"), F.slice(x, 2, 3).alias("b"), "label", "w")


def test_several_inputs_and_outputs(parts, sc, tmp_path):
    one = SparkNetworkEstimator(
        network=branches(), featuresCol=["a", "b"], labelCol=["label", "w"], maxIter=2, **SMALL
    )
    model = one.fit(parts)
    net = SparkNetwork(sc, branches(), ParameterAveraging(batch_size_per_worker=10, workers=2))
    names = {"left": "a", "right": "b", "kind": "label", "size": "w"}
    net.fit(parts.select(*(F.col(name).alias(own) for own, name in names.items())), 2)
    assert_equal(model.network.state, net.network.state)

    found = model.transform(parts)
    new = ["prediction_kind", "probability_kind", "rawPrediction_kind", "prediction_size"]
    assert found.columns == [*parts.columns, *new]
    kind, p, size = by_id(found, new[0], new[1], new[3])
    x = arrays()[0].astype(np.float32)
    y = model.network.features({"left": x[:, :2], "right": x[:, 1:]}, ["kind", "size"])
    np.testing.assert_allclose(p, y["kind"], rtol=1e-5)
    np.testing.assert_allclose(size, y["size"][:, 0], rtol=1e-5, atol=1e-6)
    assert kind.tolist() == y["kind"].argmax(axis=1).tolist()
    assert model.evaluate(parts).examples == len(x)
    w = by_id(parts, "w")[0]
    by_size = model.evaluate(parts, output="size")
    assert by_size.mse == pytest.approx(((w - y["size"][:, 0]) ** 2).mean(), rel=1e-5)
    assert by_size.loss == pytest.approx(by_size.mse, rel=1e-5)
    with pytest.raises(ConfigError, match=r"output must be one of \['kind', 'size'\] or None"):
        model.evaluate(parts, output="knd")

    model.save(str(tmp_path / "model"))
    again = SparkNetworkModel.load(str(tmp_path / "model"))
    assert again.labels == model.labels
    assert again.transformSchema(parts.schema) == found.schema


def one_label():
    """Returns a graph with inputs a and b and one class label, whose column is not named."""
    build = GraphBuilder(a=(2,), b=(3,))
    build.add(Merge(), "a", "b", name="both")
    build.add(Output(units=3), "both", name="kind")
    return build.conf(seed=3)


# Other column names, in the order ["features", "features", "label", "weights"].
CLASHES = {
    "the label": ["x", "y", "a", "w"],
    "the weights": ["x", "y", "label", "b"],
    "both": ["x", "y", "A", "b"],
    "across": ["b", "a", "_a", "w"],
}


def fit_named(parts, names):
    """Returns the model, and its evaluation, for columns with these names."""
    own = ["a", "b", "label", "w"]
    frame = parts.withColumn("apart", F.col("id") > 50)
    named = frame.select("apart", *(F.col(n).alias(u) for n, u in zip(own, names)))
    x, y, label, w = names
    columns = {"featuresCol": [x, y], "labelCol": label, "weightCol": w}
    options = {"maxIter": 2, "validationIndicatorCol": "apart", **SMALL}
    model = SparkNetworkEstimator(network=one_label(), **columns, **options).fit(named)
    return model, model.evaluate(named)


@pytest.fixture(scope="module")
def own_names(parts):
    return fit_named(parts, ["a", "b", "label", "w"])


@pytest.mark.parametrize("case", CLASHES)
def test_columns_may_have_the_names_of_other_inputs(case, parts, own_names):
    (one, before), (other, after) = own_names, fit_named(parts, CLASHES[case])
    assert_equal(other.network.state, one.network.state)
    assert after.figures() == before.figures() and after.examples == 60
    ends = [[end.validation.figures() for end in model.history.epochs] for model in (one, other)]
    assert ends[0] == ends[1]


def test_networks_with_tables(data, sc, tmp_path):
    """They use the master that they need unless one is set."""
    ids = {name: (F.col("id") * 7919 % size).alias(name) for name, size in {"u": 5, "v": 3}.items()}
    rated = data.select("id", *ids.values(), F.col("two").alias("numbers"), "yes")
    conf = zoo.deep_fm(("u", "v"), 2, dimension=2, units=(4,), seed=3)
    model = SparkNetworkEstimator(network=conf, labelCol="yes", maxIter=2, **SMALL).fit(rated)
    net = SparkNetwork(sc, conf, AllReduceSGD(batch_size_per_worker=10, workers=2))
    net.fit(rated.select("u", "v", "numbers", F.col("yes").alias("label")), 2)
    assert_equal(model.network.state, net.network.state)
    columns = ("u", "v", "numbers")
    batch = {name: np.stack(by_id(rated, name)[0]) for name in columns}
    expected = model.network.predict(batch | {"numbers": batch["numbers"].astype(np.float32)})
    [p] = by_id(model.transform(rated), "probability")
    np.testing.assert_allclose(p[:, 1], expected[:, 0], rtol=1e-4)
    assert model.evaluate(rated).examples == rated.count()
    model.save(str(tmp_path / "model"))
    [again] = by_id(SparkNetworkModel.load(str(tmp_path / "model")).transform(rated), "probability")
    np.testing.assert_array_equal(again, p)


@pytest.fixture(scope="module")
def bags(data):
    """Rows with a column named like the bag's, and a "features" column with one constant id."""
    ids = {"words": F.col("id") % 5, "features": F.lit(1)}
    return data.select("id", "label", *(column.alias(name) for name, column in ids.items()))


@pytest.fixture(scope="module")
def bag_net(bags, spark):
    """A SparkNetwork with a bag, and its accuracy."""
    master = AllReduceSGD(batch_size_per_worker=10, workers=2)
    net = SparkNetwork(spark.sparkContext, sole_bag(), master)
    net.fit(bags, 2, features="words")
    return net, net.evaluate(bags, features="words").accuracy


@pytest.mark.parametrize("stage", [SparkNetworkEstimator, SparkNetworkClassifier])
def test_a_bag_alone_reads_the_column_that_it_names(stage, bags, bag_net, tmp_path):
    net, accuracy = bag_net
    model = stage(network=sole_bag(), maxIter=2, **SMALL).fit(bags.drop("features"))
    assert_equal(model.network.state, net.network.state)
    model.save(str(tmp_path / "model"))
    again = type(model).load(str(tmp_path / "model"))
    words = np.arange(60)[:, np.newaxis] % 5
    for each in model, again:
        [p] = by_id(each.transform(bags), "probability")
        np.testing.assert_allclose(p, net.network.predict({"words": words}), rtol=1e-5)
        assert each.evaluate(bags).accuracy == accuracy
    for options in {"featuresCol": "features"}, {}:
        other = stage(network=sole_bag(), maxIter=2, **options, **SMALL).fit(bags)
        [p] = by_id(other.transform(bags), "probability")
        assert len(np.unique(p, axis=0)) == 1, "all rows have the same id there"


def test_steps_of_sequences_have_a_class_each(data):
    conf = NetworkConf(input_shape=(2, 2), layers=[RnnOutput(units=3)], seed=2)
    model = SparkNetworkModel(Network(conf))
    prediction, p = by_id(model.transform(data), "prediction", "probability")
    y = model.network.predict(arrays()[0].astype(np.float32).reshape(-1, 2, 2))
    np.testing.assert_allclose(p.reshape(y.shape), y, rtol=1e-5)
    assert prediction.tolist() == y.argmax(axis=2).tolist()
