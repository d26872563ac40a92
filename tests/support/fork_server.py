"""A fork server of pyspark's daemon, with all its modules: the processes of tasks begin at once.

For users they are spawned. Each would import numpy, pyspark and sparkdl anew, which takes longer
than what a test computes.
"""

import os
import signal
import socket
from multiprocessing import connection, forkserver, get_context, parent_process
from pathlib import Path
from threading import Thread

import psutil

from sparkdl.spark.gpu_process import process as gpu_process

CONTEXT = get_context("forkserver")
NAME = "spawn_main"  # of such a process; it is in the command line of a spawned one


class Forking:
    """Replaces the context "spawn" of sparkdl.spark.gpu_process.process."""

    Pipe = staticmethod(CONTEXT.Pipe)

    @staticmethod
    def Process(target, args, daemon):
        own = dict(os.environ), target, *args
        return CONTEXT.Process(target=begin_as_spawned, args=own, daemon=daemon)


def is_spawned(pid):
    """Returns whether a task has started this process, not Spark's daemon, which keeps its own."""
    try:
        process = psutil.Process(pid)
        return process.name() == NAME or NAME in " ".join(process.cmdline())
    except psutil.Error:
        return False


def begin_as_spawned(environ, serve, pipe, parent, *arguments):
    """Runs `serve` in the environment of its owner, with whom it ends."""
    Path("/proc/self/comm").write_text(NAME)
    os.environ.clear()
    os.environ.update(environ)
    Thread(target=end_with_owner, daemon=True).start()
    serve(pipe, os.getppid(), *arguments)


def end_with_owner():
    connection.wait([parent_process().sentinel])
    os.kill(os.getpid(), signal.SIGKILL)


def fork_processes():
    """Forks the server from this process, which has no threads; all forks of this one share it.

    It ends with the last of them. On Linux.
    """
    server, (alive, held) = forkserver._forkserver, os.pipe()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("")  # the system chooses a name, which is no file
    listener.listen()
    if not os.fork():
        os.close(held)
        try:
            forkserver.main(listener.detach(), alive, [])
        finally:
            os._exit(0)  # without what this process would do at its end
    server._forkserver_address, server._forkserver_alive_fd = listener.getsockname(), held
    listener.close()
    os.close(alive)
    server.ensure_running = lambda: None  # it asks for a child of its own
    gpu_process.SPAWNING = Forking
