"""An LMDB larger than the memory of its readers, with the command run by spark-submit."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from pyspark.find_spark_home import _find_spark_home

from sparkdl.data import Batch, write_lmdb
from tests.commands.caffe.conftest import CLASSES, NET, SOLVER
from tests.support.loaded_daemon import IN_TESTS

ROOT = Path(__file__).resolve().parents[3]
MB, LIMIT = 2**20, 280.0  # seconds for the whole run
SHAPE, RECORDS = (3, 128, 128), 6_500  # 320 million bytes
MEMORY = 256 * MB  # of an executor's JVM, and of the data of its Python processes
OPTIONS = {
    "spark.testing.reservedMemory": 32 * MB,  # otherwise Spark requires at least 450 MB
    "spark.python.worker.memory": "64m",
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
}


def limited_python(folder):
    """A Python whose data segment is limited to MEMORY, which excludes mapped files."""
    path = folder / "python"
    path.write_text(f'#!/bin/sh\nulimit -d {MEMORY // 1024}\nexec {sys.executable} "$@"\n')
    path.chmod(0o755)
    too_much = [path, "-c", f"bytearray({MEMORY})"]
    assert b"MemoryError" in subprocess.run(too_much, capture_output=True).stderr
    return path


def write_images(path):
    """Writes a database of one-colored images; the color tells the class."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, CLASSES, RECORDS).astype(np.int32)
    write_lmdb(path, (batch(labels, start) for start in range(0, RECORDS, 1000)))
    assert sum(file.stat().st_size for file in path.iterdir()) > 1.1 * MEMORY


def batch(labels, start):
    part = labels[start : start + 1000]
    images = np.zeros((len(part), *SHAPE), np.uint8)
    images[np.arange(len(part)), part] = 200
    return Batch(columns={"features": images, "labels": part}, ids=np.arange(len(part)))


@pytest.mark.slow
def test_an_lmdb_above_the_memory_of_executors_is_trained_on(tmp_path):
    write_images(tmp_path / "lmdb")
    (tmp_path / "net.prototxt").write_text(NET.replace("SOURCE", str(tmp_path / "lmdb")))
    text = SOLVER.replace("base_lr: 0.1", "base_lr: 0.001") + "test_iter: 20 test_interval: 30"
    (tmp_path / "solver.prototxt").write_text(text)
    python = limited_python(tmp_path)
    options = OPTIONS | IN_TESTS
    options |= {"spark.pyspark.python": python, "spark.executor.memory": MEMORY}
    given = [part for key, value in options.items() for part in ("--conf", f"{key}={value}")]
    command = [f"{_find_spark_home()}/bin/spark-submit", "--master", "local-cluster[1,1,256]"]
    command += [*given, "--conf", f"spark.pyspark.driver.python={sys.executable}"]
    command += [ROOT / "sparkdl" / "__main__.py", "caffe", "-conf", "solver.prototxt"]
    command += ["-train", "-test", "-model", "m.caffemodel", "-persistent"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        list(map(str, command)),
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "output").read_text())["accuracy"][0] > 0.9
