"""Fork servers that a process gives to all its forks; in a program of its own."""

import subprocess
import sys

import pytest

from tests.support.waiting import has_ended, until

PROGRAM = """
import os, signal
import psutil
from tests.support.fork_server import fork_servers, is_spawned
fork_servers()
[source] = psutil.Process().children()
from sparkdl.spark.gpu_process.process import GpuProcess
from tests.support.waiting import gone, until

started = []  # one that nobody refers to hangs up, and ends

def start():
    started.append(GpuProcess((), 0))
    process = psutil.Process(started[-1]._process.pid)
    assert until(lambda: is_spawned(process.pid)) and not is_spawned(process.ppid())
    assert process.parent().ppid() == source.pid
    return process

own = start()
assert not is_spawned(os.getpid())
ends, begins = os.pipe()
fork = os.fork()
if not fork:
    os.write(begins, str(start().pid).encode())
    signal.pause()
other = psutil.Process(int(os.read(ends, 20)))
server = other.parent()
assert server != own.parent()
os.kill(fork, signal.SIGKILL)
assert until(lambda: gone(other) and gone(server)), "they outlive their owner"
assert own.is_running() and own.parent().is_running()
print(source.pid, own.ppid(), own.pid)
"""


@pytest.mark.slow
def test_they_end_with_their_owner_and_their_source_with_the_last():
    program = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(program, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert until(lambda: all(map(has_ended, map(int, done.stdout.split()))))
