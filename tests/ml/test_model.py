"""What a model offers besides transform: functions for SQL, arrays and Arrow."""

from doctest import DocTestParser

import numpy as np
import pytest
from pyspark import cloudpickle
from pyspark.errors import PythonException
from pyspark.ml.functions import predict_batch_udf, vector_to_array
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, FloatType

from sparkdl.errors import ConfigError, SparkdlError
from sparkdl.ml import SparkNetworkClassificationModel, SparkNetworkClassifier
from sparkdl.spark.inference.arrow_map import TAKES_VECTORS
from sparkdl.transforms import Resize
from tests.ml.frames import arrays, by_id, classes_conf


def expected(model):
    return model.network.predict(2 * arrays()[0].astype(np.float32))  # scaled by the preprocessing


def test_functions_of_columns_give_what_transform_gives(classified, indexed, spark):
    spark.udf.register("class_of", classified.udf())
    indexed.createOrReplaceTempView("indexed")
    frame = spark.sql("SELECT id, class_of(features) AS found FROM indexed")
    y = expected(classified)
    assert by_id(frame, "found")[0].tolist() == y.argmax(axis=1).tolist()
    lists = indexed.select(
        "id",
        classified.udf("probability")(vector_to_array("features")).alias("p"),
        predict_batch_udf(
            classified.make_predict_fn(),
            return_type=ArrayType(FloatType()),
            batch_size=7,
            input_tensor_shapes=[[4]],
        )(vector_to_array("features")).alias("q"),
    )
    p, q = by_id(lists, "p", "q")
    np.testing.assert_allclose(p, y, rtol=1e-5)
    np.testing.assert_allclose(q, y, rtol=1e-5)


def test_a_function_of_columns_names_a_row_without_a_vector(classified, indexed):
    frame = indexed.withColumn("features", F.when(F.col("id") != 3, F.col("features"))).coalesce(1)
    with pytest.raises(PythonException, match="record 3: column 'features' must have a value, got"):
        frame.select(classified.udf()("features")).collect()


def run_examples(method, names):
    """Runs a docstring's examples with these names; returns the value of the last line."""
    *lines, last = [example.source for example in DocTestParser().get_examples(method.__doc__)]
    for line in lines:
        exec(line, names)
    return eval(last, names)


EXAMPLES = {
    "udf": lambda y: y.argmax(axis=1),
    "make_predict_fn": lambda y: y,
}


@pytest.mark.parametrize("method", EXAMPLES)
def test_examples_of_docstrings_run(method, classified, indexed, spark):
    frame = indexed.select(vector_to_array("features").alias("features")).coalesce(1)
    frame.createOrReplaceTempView("flowers")
    names = {"model": classified, "df": frame, "spark": spark}
    names |= {"predict_batch_udf": predict_batch_udf, "ArrayType": ArrayType}
    names |= {"FloatType": FloatType}
    found = run_examples(getattr(SparkNetworkClassificationModel, method), names)
    rows, y = [row[0] for row in found.collect()], expected(classified)
    np.testing.assert_allclose(rows, EXAMPLES[method](y), rtol=1e-5)


@pytest.mark.skipif(not TAKES_VECTORS, reason="mapInArrow of this Spark takes no vectors")
def test_a_plain_function_of_arrow_tables(classified, indexed):
    found = indexed.mapInArrow(*classified.map_function(indexed.schema))
    assert found.schema == classified.transform(indexed).schema
    np.testing.assert_allclose(by_id(found, "probability")[0], expected(classified), rtol=1e-5)


def test_another_column_is_refused(classified):
    with pytest.raises(ConfigError, match="column must be one of .'prediction', .* got 'class'"):
        classified.udf("class")


def test_a_model_travels(classified):
    again = cloudpickle.loads(cloudpickle.dumps(classified))
    assert again.predict(arrays()[0][0]) == classified.predict(arrays()[0][0])


NO_FRAMES = {
    "pandas": (lambda df: df.limit(1).toPandas(), r"pandas.*; .*spark.createDataFrame\(df\)"),
    "an RDD": (lambda df: df.rdd, r"pyspark.*; make one of rows: spark.createDataFrame\(rows, "),
    "arrays": (lambda df: arrays()[0], r"numpy.ndarray; make one of rows: spark.createDataFrame"),
}


@pytest.mark.parametrize("case", NO_FRAMES)
def test_what_is_no_frame_is_refused_with_what_makes_one(case, classified, indexed):
    make, message = NO_FRAMES[case]
    given, stage = make(indexed), SparkNetworkClassifier(network=classes_conf())
    for call in (stage.fit, classified.transform, classified.evaluate):
        with pytest.raises(
            ConfigError, match=f"dataset must be a DataFrame of Spark, got {message}"
        ):
            call(given)


def test_a_model_is_shown_by_its_own_name(classified, answered, estimated):
    """In the form of pyspark: "LogisticRegressionModel: uid=LogisticRegression_1, ..."."""
    for model in classified, answered, estimated:
        assert repr(model) == f"{type(model).__name__}: uid={model.uid}, numFeatures=4"
        assert str(model) == repr(model)


def test_a_model_is_shown_where_it_cannot_count_its_features(classified):
    """As a debugger and an error's report show one that is being made."""
    kind = type(classified)
    assert repr(kind.__new__(kind)) == kind.__name__
    wrong = classified.copy().setPreprocessing(Resize(size=2))
    with pytest.raises(SparkdlError):
        print(wrong.numFeatures)
    assert repr(wrong) == f"{kind.__name__}: uid={wrong.uid}"
