"""A killed driver leaves no process behind: its workers and Spark's processes end too."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
from pyspark.find_spark_home import _find_spark_home

from tests.spark.slow import Slow
from tests.support.waiting import gone, until


def test_nothing_is_left_of_a_killed_driver(tmp_path):
    slow = Slow(str(tmp_path / "slow"), 0.0)
    Path(slow.folder).mkdir()
    program = [sys.executable, "-m", "tests.spark.long_fit", slow.folder]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(program, stdout=-1, text=True, env=environment) as driver:
        try:
            work = Path(_find_spark_home(), "work", driver.stdout.readline().strip())
            assert until(lambda: driver.poll() is not None or len(slow.processes()) == 2)
            assert driver.poll() is None
        finally:
            below = psutil.Process(driver.pid).children(recursive=True)
            driver.kill()
    assert set(slow.processes()) <= {process.pid for process in below}
    assert until(lambda: all(map(gone, below)))
    shutil.rmtree(work)  # Spark would have removed it at a normal exit
