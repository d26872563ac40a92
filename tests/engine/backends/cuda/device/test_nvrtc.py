"""A second process that trains a network compiles nothing, for any hash seed.

Each start is a new process with a recording device and a counting compiler.
"""

import os
import subprocess
import sys
from itertools import count

import pytest

HERE = "tests.engine.backends.cuda.device.test_nvrtc"
START = f"import sys; from {HERE} import start; start(*sys.argv[1:])"


def start(network):
    """Builds both programs of a training step; prints the number of modules and of compilations."""
    from sparkdl.engine.backends import base
    from sparkdl.engine.backends.cuda.backend import Cuda
    from sparkdl.engine.backends.cuda.device import nvrtc
    from sparkdl.nn import zoo
    from sparkdl.nn.execution.replica import Replica
    from tests.support.cuda.recording_driver import RecordingDriver

    calls, texts = [], []

    class Driver(RecordingDriver):
        def compile(self, text):
            texts.append(nvrtc.machine_code(text, (9, 0)).decode())
            return texts[-1]

    nvrtc.version = lambda: (13, 0)
    nvrtc.compile_module = lambda text, capability: (calls.append(text) or text.encode(), "")
    base.import_module = lambda name: sys.modules[__name__]
    globals()["BACKEND"] = Cuda(Driver())
    Replica(getattr(zoo, network)(dtype="bfloat16"), "cuda").programs(4)
    print(len(texts), len(calls))


@pytest.fixture
def started(tmp_path):
    """Returns a function that starts a process and returns (modules, compilations)."""
    seeds = count(1)

    def run():
        environment = os.environ | {"SPARKDL_KERNELS": str(tmp_path)}
        environment["PYTHONHASHSEED"] = str(next(seeds))
        words = [sys.executable, "-c", START, "googlenet"]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
        assert not done.returncode, done.stderr
        return tuple(map(int, done.stdout.split()))

    return run


@pytest.mark.slow
def test_a_second_start_compiles_nothing_but_what_is_damaged(started, tmp_path):
    modules, compiled = started()
    assert modules == compiled > 20
    damaged = sorted(tmp_path.iterdir())[:3]
    assert started() == (modules, 0)
    damaged[0].write_bytes(b"")
    damaged[1].write_bytes(damaged[1].read_bytes()[:-1])
    damaged[2].unlink()
    assert started() == (modules, 3)
    assert started() == (modules, 0)
