"""The thread pool after a fork: programs run in both processes, with the same number of threads."""

import os
import subprocess
import sys

import pytest

from sparkdl.engine.backends import get

FORK = """
import os, signal, sys, threading
import numpy as np
from sparkdl.engine import compile, ops
from tests.engine.support import feeds, trace

rng = np.random.default_rng(0)
arrays = [rng.normal(size=(700, 700)).astype(np.float32) for _ in range(2)]
functions = {"oneDNN": ops.matmul, "compiled loops": lambda x, y: ops.tanh(x * y) - ops.exp(x)}
program = compile(trace(functions[sys.argv[1]], *arrays), "onednn")


def run():
    return [value.tobytes() for value in program.run(feeds(arrays)).values()]


def threads():
    return len(os.listdir("/proc/self/task"))


def fork():
    wanted, before = run(), threads()
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # where it hangs
        os._exit(0 if run() == wanted and threads() > 1 else 1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(code, run() == wanted, threads() == before)


if sys.argv[2] == "the main thread":
    fork()
else:
    thread = threading.Thread(target=fork)
    thread.start()
    thread.join()
"""


@pytest.mark.slow
@pytest.mark.skipif(getattr(get("auto"), "compiler", None) is None, reason="numpy runs alone")
@pytest.mark.parametrize("where", ["the main thread", "another thread"])
@pytest.mark.parametrize("kernels", ["oneDNN", "compiled loops"])
def test_a_fork_computes_on_as_its_parent_does(kernels, where):
    done = subprocess.run(
        [sys.executable, "-c", FORK, kernels, where],
        env=os.environ | {"OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "0 True True\n"), done.stderr[-2000:]


LATER = """
import numpy as np
from sparkdl.engine.backends import get
from sparkdl.engine.native.threads import pool
from tests.engine.native.test_table_rows import add

add(np.ones((4, 5), np.float32), np.ones((2, 5), np.float32))
print(pool() is None, get("onednn").name, pool() is None)
"""


@pytest.mark.skipif(getattr(get("auto"), "compiler", None) is None, reason="numpy runs alone")
def test_a_compiled_loop_before_onednn_is_loaded_does_not_hide_its_threads():
    done = subprocess.run([sys.executable, "-c", LATER], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "True onednn False\n"), done.stderr[-2000:]
