"""Estimators and models on disk: reading gives what was written, also in a new process."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import IndexToString

from sparkdl.errors import CheckpointError
from sparkdl.listeners import TerminateOnTime
from sparkdl.masters import AllReduceSGD
from sparkdl.ml import (
    SparkNetworkClassificationModel,
    SparkNetworkClassifier,
    SparkNetworkRegressionModel,
)
from sparkdl.training.network import Network
from sparkdl.transforms import Scale
from tests.ml.frames import by_id, classes_conf
from tests.training.models import assert_equal

IN_A_NEW_PROCESS = """
import json, sys
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.ml import PipelineModel
from pyspark.sql import SparkSession
gateway = launch_gateway()  # to the JVM that is there
jsc = gateway.jvm.JavaSparkContext(gateway.jvm.org.apache.spark.SparkContext.getOrCreate())
conf = SparkConf(_jvm=gateway.jvm, _jconf=jsc.getConf())
spark = SparkSession(SparkContext(conf=conf, gateway=gateway, jsc=jsc))
model = PipelineModel.load(sys.argv[1])
rows = model.transform(spark.read.parquet(sys.argv[2])).collect()
print(json.dumps(sorted([row.id, row.named, row.probability.tolist()] for row in rows)))
"""


class OwnClassifier(SparkNetworkClassifier):
    """A user's subclass."""


def beside(sc):
    """Environment with which a new Python process becomes a driver in the same JVM."""
    jvm = sc._gateway.gateway_parameters
    of_jvm = {"PYSPARK_GATEWAY_PORT": str(jvm.port), "PYSPARK_GATEWAY_SECRET": jvm.auth_token}
    return os.environ | of_jvm


def test_a_saved_pipeline_predicts_in_a_new_process(classified, indexed, sc, tmp_path):
    model, data = str(tmp_path / "model"), str(tmp_path / "data")
    pipeline = PipelineModel([classified, IndexToString(inputCol="prediction", outputCol="named")])
    pipeline.save(model)
    indexed.coalesce(1).write.parquet(data)
    program = [sys.executable, "-c", IN_A_NEW_PROCESS, model, data]
    done = subprocess.run(program, capture_output=True, text=True, check=True, env=beside(sc))
    found = json.loads(done.stdout)
    named, p = by_id(pipeline.transform(indexed), "named", "probability")
    assert [name for _, name, _ in found] == named.tolist()
    np.testing.assert_allclose([values for _, _, values in found], p, rtol=1e-6)


def test_a_model_comes_back(classified, tmp_path):
    path = (tmp_path / "model").as_uri()
    classified.save(path)
    again = SparkNetworkClassificationModel.load(path)
    assert_equal(again.network.state, classified.network.state)
    assert (again.uid, again.labels, again.history) == (classified.uid, classified.labels, None)
    values = {p.name: value for p, value in again.extractParamMap().items()}
    assert values == {p.name: value for p, value in classified.extractParamMap().items()}
    assert again.getPreprocessing() == Scale(factor=2.0)
    assert_equal(Network.load(tmp_path / "model" / "network").state, again.network.state)
    with pytest.raises(CheckpointError, match="must hold a sparkdl.ml.SparkNetworkRegressionModel"):
        SparkNetworkRegressionModel.load(path)


def test_what_is_there_is_replaced_only_if_told_so(estimated, tmp_path):
    path = str(tmp_path / "model")
    estimated.save(path)
    with pytest.raises(Exception, match="already exists"):
        estimated.save(path)
    estimated.write().overwrite().save(path)
    assert SparkNetworkRegressionModel.load(path).uid == estimated.uid


def test_an_estimator_comes_back_with_the_weights_it_starts_from(spark, tmp_path):
    network = Network(classes_conf())
    one = SparkNetworkClassifier(network=network, master=AllReduceSGD(), maxIter=3)
    one.setListeners([TerminateOnTime(60)])
    pipeline = Pipeline(stages=[one, SparkNetworkClassifier(network=classes_conf())])
    pipeline.save(str(tmp_path / "pipeline"))
    again, other = Pipeline.load(str(tmp_path / "pipeline")).getStages()
    assert_equal(again.getNetwork().state, network.state)
    assert (again.getMaster(), again.getMaxIter(), again.getListeners()) == (AllReduceSGD(), 3, [])
    assert other.getNetwork() == classes_conf()


def test_a_subclass_of_a_user_comes_back(spark, tmp_path):
    """As pyspark.ml's own reader does it: by the class's module and name."""
    Pipeline(stages=[OwnClassifier(maxIter=3)]).save(str(tmp_path / "pipeline"))
    [again] = Pipeline.load(str(tmp_path / "pipeline")).getStages()
    assert (type(again), again.getMaxIter()) == (OwnClassifier, 3)
    with pytest.raises(CheckpointError, match="got a tests.ml.test_persistence.OwnClassifier"):
        SparkNetworkClassifier.load(str(tmp_path / "pipeline" / "stages" / f"0_{again.uid}"))


def test_a_subclass_that_was_saved_under_its_earlier_name_is_loaded(spark, tmp_path):
    folder = tmp_path / "stage"
    OwnClassifier(maxIter=3).save(str(folder))
    [part] = (folder / "metadata").glob("part-*")
    text = part.read_text().replace("tests.ml.test_persistence.Own", "tests.ml.Own")
    (folder / "metadata" / f".{part.name}.crc").unlink()
    part.write_text(text)
    assert OwnClassifier.load(str(folder)).getMaxIter() == 3
