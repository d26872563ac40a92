"""A script that starts workers on import gets one error and does not run repeatedly."""

import subprocess
import sys

import pytest

FIT = """
import numpy as np
from sparkdl import Dense, Network, NetworkConf, Output
conf = NetworkConf(input_shape=(4,), layers=[Dense(units=4), Output(units=2)])
data = np.zeros((64, 4), np.float32), np.arange(64) % 2
"""
PLAIN = f"{FIT}print('begun', flush=True)\nNetwork(conf).fit(data)\nprint('ended')"
ROUND = (
    f"{FIT}print('begun', flush=True)\n"
    + """
from types import SimpleNamespace
from sparkdl.training.workers.local import LocalWorkers
from tests.training import tasks
from tests.training.workers.test_local import blocks_of
with LocalWorkers(2) as workers:
    workers.run_round(tasks.block_numbers, blocks_of(workers), [2, 1], None, 2)
"""
)
GUARDED = f"{FIT}if __name__ == '__main__':\n    Network(conf).fit(data)\n    print('ended')"


def run(*arguments, text=None):
    """Runs this Python; returns (exit code, standard output, standard error)."""
    done = subprocess.run(
        [sys.executable, *arguments], input=text, capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("statements", [PLAIN, ROUND], ids=["fit", "round"])
def test_a_script_without_a_guard_is_named_and_its_workers_not_replaced(tmp_path, statements):
    path = tmp_path / "script.py"
    path.write_text(statements)
    code, out, err = run(str(path))
    assert code == 1 and "ended" not in out
    assert out.count("begun") <= 3  # here and in two workers
    assert err.count("Traceback") <= 2  # the caller's own, and its cause
    assert err.splitlines()[-1] == (
        f"sparkdl.errors.ConfigError: each worker process imports the script that starts it, and "
        f"{path} starts workers while it is imported; put the script's statements below "
        "`if __name__ == '__main__':`"
    )


OTHERS = """
from multiprocessing import get_context
if __name__ == "__main__":
    process = get_context("spawn").Process(target=print)
    process.start()
    process.join()
    raise SystemExit(process.exitcode)
import library
"""


@pytest.mark.slow
def test_a_process_of_others_is_told_as_well(tmp_path):
    (tmp_path / "library.py").write_text(PLAIN)
    (tmp_path / "script.py").write_text(OTHERS)
    code, _, err = run(str(tmp_path / "script.py"))
    assert code == 93 and "starts workers while it is imported; put the script's" in err


@pytest.mark.slow
def test_living_workers_need_no_script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(f"""{FIT}
import os
from sparkdl import LocalWorkers
if __name__ == "__main__":
    with LocalWorkers(2) as workers:
        Network(conf).fit(data, workers=workers)
        os.remove(__file__)
        Network(conf).fit(data, workers=workers)
    print("ended")
""")
    code, out, err = run(str(path))
    assert (code, out) == (0, "ended\n"), err


@pytest.mark.slow
def test_a_script_from_standard_input_is_refused_before_it_starts_workers():
    code, out, err = run("-", text=PLAIN)
    assert (code, out) == (1, "begun\n")
    assert "must be a file, which they import, got <stdin>; save it to a file" in err


@pytest.mark.slow
def test_a_command_and_an_interpreter_and_a_guarded_script_train(tmp_path):
    (tmp_path / "guarded.py").write_text(GUARDED)
    for arguments, text in [(["-c", PLAIN], None), ([str(tmp_path / "guarded.py")], None)]:
        code, out, _ = run(*arguments, text=text)
        assert code == 0 and out.endswith("ended\n")
    assert "ended" in run("-i", text=PLAIN)[1]
