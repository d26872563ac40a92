"""A Spark of its own, for tests of what that of the others does not have."""

import json
import os
import subprocess
import sys

import pytest


@pytest.fixture(scope="session")
def own_spark():
    """What tests.spark.jobs.own_spark prints."""
    program = [sys.executable, "-m", "tests.spark.jobs.own_spark"]
    own = os.environ | {"PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(program, capture_output=True, text=True, env=own, timeout=250)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
