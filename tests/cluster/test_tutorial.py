"""The tutorial's blocks run in an environment that has only the wheel installed."""

import os
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.pages import blocks

TUTORIAL = "notebooks/tutorial.md"
OURS = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"}
LOADED = """
import sys
from importlib.metadata import distributions
print(sorted(each.metadata["Name"].lower() for each in distributions()))
import sparkdl
print(sparkdl.__file__)
"""


@pytest.fixture(scope="module")
def python(packaged, tmp_path_factory):
    """`python(code)` runs a program in the fresh environment; returns its folder and output.

    The installed pyspark is linked, because pip would install 450 MB.
    """
    folder, links = tmp_path_factory.mktemp("stranger"), tmp_path_factory.mktemp("pyspark")
    for name in ("pyspark", "py4j"):
        links.joinpath(name).symlink_to(Path(find_spec(name).origin).parent)
    environment = {key: value for key, value in os.environ.items() if key not in OURS}
    environment |= {
        "PYTHONPATH": str(links),
        "PYTHONNOUSERSITE": "1",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    environment["PATH"] = f"{packaged[1] / 'bin'}{os.pathsep}{environment['PATH']}"

    def run(code):
        options = {"cwd": folder, "env": environment, "capture_output": True, "text": True}
        done = subprocess.run(["python", "-c", code], timeout=300, **options)
        assert done.returncode == 0, done.stderr[-4000:]
        return folder, done.stdout

    return run


def test_the_environment_has_the_wheel_and_none_of_the_tests_packages(python):
    _, text = python(LOADED)
    names, file = text.splitlines()
    assert "'sparkdl-hadoop'" in names and "pytest" not in names and "scikit-learn" not in names
    assert ".pytest_cache" in file and "site-packages" in file


def test_the_blocks_train_a_model(python):
    assert [len(blocks(TUTORIAL, language)) for language in ("", "python")] == [1, 4]
    folder, text = python("\n".join(blocks(TUTORIAL, "python")))
    right, answers = map(int, re.search(r"(\d+) of (\d+) are right", text).groups())
    assert right > 0.9 * answers
    assert (folder / "fit.html").stat().st_size > 1e4
    assert (folder / "fruit-model" / "stages").is_dir()
