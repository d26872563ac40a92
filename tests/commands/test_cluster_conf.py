"""conf/*.conf: Spark knows each option, accepts its value, and can prepare a submission with it."""

from pathlib import Path

import pytest

from sparkdl.commands.submit import properties

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "conf").glob("*.conf"))
STARTED_BY = {
    "kubernetes": "org.apache.spark.deploy.k8s.submit.KubernetesClientApplication",
    "standalone": "org.apache.spark.deploy.PythonRunner",
    "yarn": "org.apache.spark.deploy.yarn.YarnClusterApplication",
}
OPTIONS_OF = "org.apache.spark.deploy.yarn.config.package$", "org.apache.spark.deploy.k8s.Config$"


@pytest.fixture
def jvm(sc):
    for name in OPTIONS_OF:  # loading the class registers its options
        sc._jvm.java.lang.Class.forName(name)
    return sc._jvm


def test_there_is_one_for_each_kind_of_cluster():
    assert {path.stem for path in FILES} == set(STARTED_BY)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_spark_knows_the_options(jvm, path):
    given = properties(path)
    assert given.pop("spark.master")
    entries = jvm.org.apache.spark.internal.config.ConfigEntry
    found = {key: entries.findEntry(key) for key in given}
    assert not [key for key, entry in found.items() if entry is None]
    for key, entry in found.items():
        entry.valueConverter().apply(given[key])  # raises if the value is wrong


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_spark_prepares_a_submission(jvm, path):
    deploy = jvm.org.apache.spark.deploy
    entry = str(ROOT / "sparkdl" / "__main__.py")
    command = jvm.PythonUtils.toSeq(["--properties-file", str(path), entry, "train"])
    # Spark refuses YARN without HADOOP_CONF_DIR.
    environment = jvm.PythonUtils.toScalaMap({"HADOOP_CONF_DIR": str(ROOT)})
    arguments = deploy.SparkSubmitArguments(command, environment)
    prepared = deploy.SparkSubmit().prepareSubmitEnvironment(arguments, jvm.scala.Option.empty())
    assert prepared._4() == STARTED_BY[path.stem]
    conf = prepared._3()
    assert conf.get("spark.pyspark.python") == "./environment/bin/python"
    assert conf.get("spark.executor.cores") == "4"
