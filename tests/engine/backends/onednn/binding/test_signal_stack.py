"""Signals during a recurrent layer must not corrupt the heap."""

import os
import subprocess
import sys

import pytest

LOOP = """
import signal, time
import numpy as np
from sparkdl.engine import compile, ops
from sparkdl.engine.ops.recurrent.lstm import LstmOp
from tests.engine.support import feeds, with_gradients

rng = np.random.default_rng(0)
shapes = (16, 60, 32), (32, 800), (200, 800), (800,), (16, 200), (16, 200)
arrays = [rng.normal(size=shape).astype(np.float32) / 10 for shape in shapes]
program = compile(with_gradients(lambda *x: LstmOp()(*x)[0], *arrays), "onednn")
wanted = [value.tobytes() for value in program.run(feeds(arrays)).values()]
came = []
signal.signal(signal.SIGALRM, lambda *_: came.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
end = time.monotonic() + 4
while time.monotonic() < end or len(came) <= 20:  # on a busy machine, few steps come in that time
    assert wanted == [value.tobytes() for value in program.run(feeds(arrays)).values()]
signal.setitimer(signal.ITIMER_REAL, 0)
print(len(came) > 20)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the stack is set as Linux wants it")
def test_signals_leave_the_heap_of_a_recurrent_layer_alone():
    own = {k: v for k, v in os.environ.items() if k != "PYTHONFAULTHANDLER"}  # has its own stack
    command = [sys.executable, "-c", LOOP]
    done = subprocess.run(
        command, env=own | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr[-2000:]
