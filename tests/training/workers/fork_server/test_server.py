"""A server ends with its owner, whatever ends that; it loads what it is told and nothing else."""

import json
import os
import signal
import subprocess
import sys

import psutil
import pytest

from sparkdl.spark.gpu_process import process as gpu_process
from sparkdl.training.workers import local
from tests.support.tables import slow
from tests.support.waiting import gone, until

OWNER = """
import os, signal, sys, time
from tests.training.workers.fork_server.asked import Asked
if __name__ == "__main__":
    asked = Asked()
    fork = os.fork()
    if not fork:
        time.sleep(300)  # has all files of its owner
        os._exit(0)
    print(asked.server.pid, asked.process.pid, fork, flush=True)
    asked.pipe.send(sys.argv[1])
    if sys.stdin.readline():
        sys.exit(5)
"""
BUSY = {
    "sleeping": "time.sleep(300)",
    "holding the interpreter": "ctypes.PyDLL(None).pause()",
}


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(OWNER)
    return path


@pytest.mark.parametrize("busy", BUSY)
@pytest.mark.parametrize("number", [slow(None), signal.SIGKILL, slow(signal.SIGTERM)])
def test_both_end_with_the_owner(busy, number, script):
    command = [sys.executable, script, BUSY[busy]]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipes = {"stdin": -1, "stdout": -1, "stderr": -1, "text": True, "env": environment}
    with subprocess.Popen(command, **pipes) as owner:
        *ours, fork = map(psutil.Process, map(int, owner.stdout.readline().split()))
        try:
            if number is None:
                owner.stdin.write("end\n")
                owner.stdin.flush()
            else:
                owner.send_signal(number)
            until(lambda: all(map(gone, ours)))
        finally:
            fork.kill()
        assert owner.wait(60) == (5 if number is None else -number)
        assert owner.stderr.read() == ""


@pytest.mark.slow
def test_an_interrupt_of_all_is_for_the_owner(script):
    command = [sys.executable, script, BUSY["sleeping"]]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipes = {"stdin": -1, "stdout": -1, "stderr": -1, "text": True, "env": environment}
    with subprocess.Popen(command, start_new_session=True, **pipes) as owner:
        server, worker, fork = map(int, owner.stdout.readline().split())
        psutil.Process(fork).kill()
        os.killpg(owner.pid, signal.SIGINT)
        assert owner.wait(60) == -signal.SIGINT
        assert owner.stderr.read().count("Traceback") == 1
        until(lambda: not psutil.pid_exists(server) and not psutil.pid_exists(worker))


LOADING = """
import json, os, sys
from pathlib import Path
from sparkdl.training.workers.fork_server import contexts
def tell(pipe):
    server = os.getppid()
    maps = Path(f"/proc/{server}/maps").read_text().split()
    threads = len(os.listdir(f"/proc/{server}/task"))
    pipe.send((sorted({name.partition(".")[0] for name in sys.modules}), maps, threads))
if __name__ == "__main__":
    processes = contexts.process_context(json.loads(sys.argv[1]))
    ours, theirs = processes.Pipe()
    processes.Process(target=tell, args=(theirs,), daemon=True).start()
    print(json.dumps(ours.recv()))
"""
OF_OTHERS = {"cython_runtime", "llvmlite", "ml_dtypes", "numpy", "threadpoolctl"}
OF_SPARK = {"psutil", "py4j", "pyspark"}  # psutil: of Spark 4.0, where it is installed
LOADED = {
    "local": (local.MODULES, OF_OTHERS),
    "of a task": (gpu_process.MODULES, OF_OTHERS | OF_SPARK),
}
BEGUN = "cuda", "cudart", "gomp", "dnnl", "arrow", "torch"  # parts of names of libraries


@pytest.mark.slow
@pytest.mark.parametrize("name", LOADED)
def test_it_loads_no_module_of_a_user_and_no_library_that_a_fork_would_break(name, tmp_path):
    modules, others = LOADED[name]
    path = tmp_path / "script.py"
    path.write_text(LOADING)
    command = [sys.executable, path, json.dumps(modules)]
    environment = os.environ | {"PYTHONPATH": os.getcwd(), "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    roots, maps, threads = json.loads(done.stdout)
    known = sys.stdlib_module_names | others | {"sparkdl", "__main__", "__mp_main__"}
    unknown = {name for name in roots if name not in known and not name.startswith("_")}
    assert not unknown
    assert not [path for path in maps if any(part in path.rpartition("/")[2] for part in BEGUN)]
    assert threads == 1
