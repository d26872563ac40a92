"""Processes that a fork server gives to all forks of its owner; in a program of its own."""

import subprocess
import sys
from contextlib import suppress

import psutil

from tests.support.waiting import gone, until

PROGRAM = """
import os, signal
import psutil
from tests.support.fork_server import fork_processes, is_spawned
fork_processes()
[server] = psutil.Process().children()
from sparkdl.spark.gpu_process.process import GpuProcess
from tests.support.waiting import gone, until

own = GpuProcess((), 0)
assert psutil.Process(own._process.pid).ppid() == server.pid
assert until(lambda: is_spawned(own._process.pid)) and not is_spawned(os.getpid())

ends, begins = os.pipe()
fork = os.fork()
if not fork:
    process = GpuProcess((), 0)
    os.write(begins, str(process._process.pid).encode())
    signal.pause()
other = psutil.Process(int(os.read(ends, 20)))
assert until(lambda: is_spawned(other.pid)) and other.ppid() == server.pid
os.kill(fork, signal.SIGKILL)
assert until(lambda: gone(other)), "it outlives its owner"
own.kill()
assert not own.is_alive() and server.is_running()
print(server.pid)
"""


def test_they_end_with_their_owner_and_the_server_with_the_last():
    program = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(program, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert until(lambda: has_ended(int(done.stdout)))


def has_ended(pid):
    with suppress(psutil.NoSuchProcess):
        return gone(psutil.Process(pid))
    return True
