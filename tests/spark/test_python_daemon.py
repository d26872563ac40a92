"""Executors fork the processes of tasks from a daemon that has loaded their modules."""

import os
import subprocess
import sys

import pytest

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


FORKS = """
import os
import numpy as np
from sparkdl.spark.python_daemon import load

def draw(write):
    ones = np.ones((300, 300))
    os.write(write, f"{(ones @ ones).sum()} {np.random.random()}\\n".encode())

load()
read, write = os.pipe()
for _ in range(2):
    if not os.fork():
        np.random.seed(7)  # as a task does
        if not os.fork():
            draw(write)
            os._exit(0)
        os.wait()
        os._exit(0)
for _ in range(2):
    os.wait()
print(os.read(read, 1000).decode(), end="")
"""


def run(code, threads=1):
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"OMP_NUM_THREADS": str(threads)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout


def test_tasks_of_a_session_are_forks_that_have_loaded_sparkdl():
    ours = "{'sparkdl.spark.python_daemon'}"
    assert run(CODE).strip() == f"[True, True] {ours} 8"  # and their random numbers differ


def test_the_daemon_runs_one_thread():
    assert run(THREADS) == "1"


def test_forks_of_several_threads_compute_and_keep_a_seed_of_their_own():
    product, drawn = "27000000.0", "0.07630828937395717"
    assert run(FORKS, threads=4) == f"{product} {drawn}\n" * 2


BROKEN = [
    "sys.modules['pandas'] = sys.modules['llvmlite.binding'] = None",
    "sys.meta_path.insert(0, Broken())",
]
FINDER = """
import sys

class Broken:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            raise ValueError("numpy.dtype size changed")
"""


@pytest.mark.parametrize("change", BROKEN)
def test_a_module_that_does_not_load_is_left_to_the_tasks(change):
    assert run(FINDER + change + "\n" + THREADS) == "1"
