"""Executors fork the processes of tasks from a daemon that has loaded their modules."""

import os
import subprocess
import sys

CODE = """
import os, subprocess, sys
from sparkdl.spark.session import session

def look(_):
    import numpy as np
    parent = open(f"/proc/{os.getppid()}/cmdline").read().split(chr(0))
    yield parent[parent.index("-m") + 1], os.getpid(), np.random.random()

def started(_):
    import sys, time
    time.sleep(1)  # both slots have a task
    yield "sparkdl.spark.workers" in sys.modules

with session("local-cluster[1,2,600]") as spark:
    sc = spark.sparkContext
    found = sc.parallelize(range(2), 2).mapPartitions(started).collect()
    again = sc.parallelize(range(8), 8).mapPartitions(look).collect()
    print(found, {row[0] for row in again}, len({row[2] for row in again}))
"""
THREADS = """
import os
from sparkdl.spark.python_daemon import load

load()
names = [open(f"/proc/self/task/{one}/comm").read() for one in os.listdir("/proc/self/task")]
print(len(names), end="")
"""


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_tasks_of_a_session_are_forks_that_have_loaded_sparkdl():
    ours = "{'sparkdl.spark.python_daemon'}"
    assert run(CODE).strip() == f"[True, True] {ours} 8"  # and their random numbers differ


def test_the_daemon_runs_one_thread():
    assert run(THREADS) == "1"


def test_a_module_that_is_missing_is_left_to_the_tasks():
    block = "import sys; sys.modules['pandas'] = sys.modules['llvmlite.binding'] = None\n"
    assert run(block + THREADS) == "1"
