"""Fork servers of the processes of Spark's tasks: forks of pyspark's daemon, with all its modules.

For users each such process starts a server of its own, which imports numpy, pyspark and sparkdl
anew; that takes longer than what a test computes.
"""

import os
import signal
import socket
import subprocess
from functools import partial
from multiprocessing import connection

import psutil

from sparkdl.training.workers.fork_server import server_process
from sparkdl.training.workers.fork_server.server import main

NAMES = "sparkdl-worker", "spawn_main"  # of a process, or in its command line


def is_spawned(pid):
    """Returns whether a task has started this process, not Spark's daemon, which keeps its own."""
    try:
        process = psutil.Process(pid)
        return any(name in " ".join([process.name(), *process.cmdline()]) for name in NAMES)
    except psutil.Error:
        return False


def fork_servers():
    """Makes the forks of this process, which has no threads, have servers that load nothing.

    These are forked from another fork of this process, which ends with the last of them. On Linux.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if not os.fork():
        ours.close()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while files := socket.recv_fds(theirs, 1, 2)[1]:
            if not os.fork():
                theirs.close()
                serve(*files)
            for file in files:
                os.close(file)
        os._exit(0)
    theirs.close()
    server_process.launch = partial(launch, ours)


def serve(file, _alive):
    """Serves an owner, in a fork, which ends without what its daemon would do at its end."""
    code = 1
    try:
        main(file, [])
    except SystemExit as end:
        code = end.code
    finally:
        os._exit(code)


def launch(asked, far, modules):
    """Replaces `launch` of sparkdl.training.workers.fork_server.server_process."""
    ends, alive = os.pipe()
    socket.send_fds(asked, [b"f"], [far.fileno(), alive])
    os.close(alive)
    return Launched(ends)


class Launched:
    """The part of a subprocess.Popen that is used of a server."""

    def __init__(self, ends):
        self._ends, self.returncode, self.pid = ends, None, "of the daemon"

    def wait(self, limit=None):
        """Waits until all have ended that have the other end of the pipe."""
        if self.returncode is None:
            if not connection.wait([self._ends], limit):
                raise subprocess.TimeoutExpired("a server", limit)
            self.returncode = 0

    def kill(self):
        """Leaves it: its owner has hung up."""
        self.returncode = 0
