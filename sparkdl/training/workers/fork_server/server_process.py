"""A fork server, as seen by its owner."""

import logging
import os
import socket
import subprocess
from contextlib import suppress
from multiprocessing import resource_tracker, spawn, util

from sparkdl.training.workers.fork_server.server import FORK, RETIRE
from sparkdl.training.workers.fork_server.surroundings import Surroundings

PROGRAM = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); sys.path[:] = {path!r}; "
    "from sparkdl.training.workers.fork_server.server import main; main({file}, {modules!r})"
)
log = logging.getLogger(__name__)
ENDING = 10.0  # seconds for a server to end once its owner hangs up
OUTPUTS = 1, 2


class ServerProcess:
    """A process that forks others, which end with it; it ends with this process.

    Parameters
    ----------
    modules : list of str
        That it loads.

    Attributes
    ----------
    surroundings : Surroundings
        Of this process when the other began.
    """

    def __init__(self, modules):
        self.surroundings = Surroundings.of_this_process()
        self._socket, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with far:
            self._process = launch(far, modules)
        # At exit, after multiprocessing has ended the forks.
        self._ending = util.Finalize(None, self.end, exitpriority=-10)

    def __str__(self):
        return f"process {self._process.pid}"

    def fork(self, files):
        """Requests a process, which receives these files.

        Returns
        -------
        (int, int)
            Files: to read its id and its exit code from, and to write to it. The first one ends at
            once if there is no process.
        """
        (status, theirs), (data, ours) = os.pipe(), os.pipe()
        outputs = list(filter(is_open, OUTPUTS))
        sent = [data, theirs, resource_tracker.getfd(), *outputs, *files]
        try:
            socket.send_fds(self._socket, [FORK + bytes(outputs)], sent)
        except OSError:
            pass  # it has ended
        finally:
            os.close(data)
            os.close(theirs)
        return status, ours

    def exit_code(self, limit=0.0):
        """Returns its exit code, or None if it still runs after `limit` seconds."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(limit)
        return self._process.returncode

    def retire(self):
        """Lets it end with the last of its processes."""
        with suppress(OSError):  # it has ended
            self._socket.send(RETIRE)

    def end(self):
        """Ends it, and its processes."""
        self._ending.cancel()
        self._socket.close()
        try:
            self._process.wait(ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            if self.exit_code(ENDING) is None:  # stuck in a driver or a file system
                log.warning("%s: has not ended %g s after it was killed", self, ENDING)

    def leave(self):
        """Leaves it to the process that this one was forked from."""
        self._socket.close()
        self._process.returncode = 0  # its owner waits for it


def launch(far, modules):
    """Starts a server for the owner of the other end of a socket."""
    path = spawn.get_preparation_data("")["sys_path"]
    texts = [place for place in path if isinstance(place, str)]  # Python skips others
    program = PROGRAM.format(path=texts, file=far.fileno(), modules=modules)
    command = [spawn.get_executable(), *subprocess._args_from_interpreter_flags(), "-c", program]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[far.fileno()])


def is_open(file):
    """Returns whether an output is open; files that Python opens in its place are not inherited."""
    try:
        return os.get_inheritable(file)
    except OSError:
        return False
