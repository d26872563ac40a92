"""A process that forks workers on request: their modules are loaded, and it runs one thread."""

import importlib
import os
import signal
import socket
import sys
import threading
import zipimport
from contextlib import suppress
from multiprocessing import connection, forkserver

from sparkdl.training.workers.fork_server.forked_process import begin, name_process
from sparkdl.training.workers.frozen_modules import freeze_modules

FORK, RETIRE = b"f", b"r"  # requests; the first is followed by the numbers of outputs
STATUS = 1  # place among the files of a request
MOST = 250  # files that come with a request
MANY = 4096


def main(file, modules):
    """Serves the owner of the other end of a socket; ends with that end, as do all forks."""
    name_process("sparkdl-forks")
    for name in modules:
        with suppress(ImportError, OSError):  # a library that is not installed, or is damaged
            importlib.import_module(name)
    if threading.active_count() > 1:  # of a tool that watches each program, for instance
        sys.exit(f"cannot fork workers: {threading.enumerate()[1]} would be lost")
    freeze_modules()
    forget_files()
    with socket.socket(fileno=file) as owner:
        code = ForkServer(owner).run()
    sys.exit(code)


def forget_files():
    """Makes forks look at files and archives again, which may change until then."""
    sys.path_importer_cache.clear()
    zipimport._zip_directory_cache.clear()


class ForkServer:
    """Forks a process for each request, and sends its owner the exit codes.

    It ends without Python's own end, which is for its forks.
    """

    def __init__(self, owner):
        self._owner, self._statuses, self._is_retired = owner, {}, False
        self._ends, wake = os.pipe()
        self._files = self._ends, wake
        for file in self._files:
            os.set_blocking(file, False)
        # An owner that blocks it passes this on.
        self._blocked = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake)

    def run(self):
        """Serves until the owner hangs up; returns only in a fork, with its exit code."""
        while not (self._is_retired and not self._statuses):
            ready = connection.wait([self._ends, self._owner])
            if self._ends in ready:
                os.read(self._ends, MANY)
                self._tell_ends()
            if self._owner in ready:
                code = self._answer()
                if code is not None:
                    return code
        os._exit(0)

    def _answer(self):
        """Answers a request; returns an exit code in a fork."""
        request, files, flags, _ = socket.recv_fds(self._owner, MANY, MOST)
        if not request:
            os._exit(0)
        kind, outputs = request[:1], list(request[1:])
        self._is_retired = self._is_retired or kind == RETIRE
        if kind == FORK and not flags & socket.MSG_CTRUNC:  # else it may not open as many files
            server, process = os.getpid(), fork()
            if process == 0:
                self._close()
                os.close(files.pop(STATUS))
                return begin(server, outputs, files)
            if process is not None:
                self._keep(process, files.pop(STATUS))
        for file in files:
            os.close(file)
        return None

    def _keep(self, process, status):
        self._statuses[process] = status
        tell(status, process)

    def _tell_ends(self):
        """Sends the exit codes of the processes that have ended."""
        with suppress(ChildProcessError):  # there are none
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                status = self._statuses.pop(found[0], None)
                if status is not None:  # else a module's own process
                    tell(status, os.waitstatus_to_exitcode(found[1]))
                    os.close(status)

    def _close(self):
        """Closes, in a fork, what belongs to the server."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._blocked)
        self._owner.close()
        for file in (*self._files, *self._statuses.values()):
            os.close(file)


def fork():
    """Forks this process; returns None if the system refuses."""
    try:
        return os.fork()
    except OSError:
        return None


def tell(status, number):
    with suppress(BrokenPipeError):  # the owner has ended
        forkserver.write_signed(status, number)
