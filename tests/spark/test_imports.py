"""An executor imports what its tasks need, not what a driver does."""

import json
import subprocess
import sys

import pytest

TASKS = {
    "reading": "sparkdl.spark.records.records",
    "rounds through the driver": "sparkdl.spark.workers",
    "workers that stay": "sparkdl.spark.launch.barrier_stage",
    "predictions": "sparkdl.spark.inference.predictions",
}
OF_DRIVERS = {
    "sparkdl.spark.network",
    "sparkdl.spark.session",
    "sparkdl.spark.streaming.stream_fit",
    "sparkdl.interop",
    "sparkdl.commands",
    "pandas",
    "jinja2",
    "tqdm",
}
CODE = "import json, sys, {}; print(json.dumps(sorted(sys.modules)))"


@pytest.mark.parametrize("name", TASKS)
def test_a_task_imports_nothing_of_the_drivers(name):
    code = CODE.format(TASKS[name])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert not OF_DRIVERS & set(json.loads(done.stdout))


def test_the_names_of_the_package_are_found_when_they_are_asked_for():
    import sparkdl.spark as package

    assert set(package.__all__) <= set(dir(package))
    assert package.SparkWorkers.__module__ == "sparkdl.spark.workers"
    with pytest.raises(AttributeError, match="no attribute 'SparkNetwrok'"):
        package.SparkNetwrok  # noqa: B018
