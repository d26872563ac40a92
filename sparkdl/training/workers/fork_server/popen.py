"""The owner's side of a forked process, for multiprocessing."""

import io
import os
import signal
from contextlib import suppress
from multiprocessing import connection, context, forkserver, popen_forkserver, spawn, util
from threading import Lock

from sparkdl.training.workers.fork_server.own_server import SERVER

STARTING = 300.0  # seconds for a server to load its modules and fork


class ForkedPopen(popen_forkserver.Popen):
    """Starts a process and watches its end.

    Attributes
    ----------
    has_lost_server : bool
        Whether it has ended because the server did; its exit code is then that of the kill.
    """

    def __init__(self, process):
        self._ending, self.has_lost_server = Lock(), False
        super().__init__(process)

    def poll(self, flag=os.WNOHANG):
        """Returns the exit code, or None while it runs; waits for its end if `flag` is 0."""
        if self.returncode is None:
            connection.wait([self.sentinel], 0 if flag else None)
            with self._ending:  # another thread may ask as well
                if self.returncode is None and connection.wait([self.sentinel], 0):
                    self.returncode = self._exit_code()
        return self.returncode

    def _exit_code(self):
        try:
            return forkserver.read_signed(self.sentinel)
        except (OSError, EOFError):  # the system kills a process whose server ends
            self.has_lost_server = True
            return -signal.SIGKILL

    def _send_signal(self, number):
        if self.poll() is None:  # else its number may be that of another process by now
            super()._send_signal(number)

    def _launch(self, process):
        data = self._pickle(process)
        self.sentinel, pipe, surroundings = SERVER.fork(self._fds)
        alive = os.dup(pipe)  # shows the process that its owner lives
        self.finalizer = util.Finalize(self, util.close_fds, (alive, self.sentinel))
        try:
            with connection.Connection(pipe, readable=False) as sender:
                self.pid = self._receive_pid()
                with suppress(BrokenPipeError):  # it has ended, as its exit code will tell
                    sender.send(surroundings)
                    write(pipe, data)
        except BaseException:
            self.finalizer()  # one that is forked later finds nobody, and ends
            raise

    def _pickle(self, process):
        """Returns a process and what it needs of this one; fills `_fds`."""
        file, about = io.BytesIO(), spawn.get_preparation_data(process.name)
        context.set_spawning_popen(self)
        try:
            context.reduction.dump(about, file)
            context.reduction.dump(process, file)
        finally:
            context.set_spawning_popen(None)
        return file.getvalue()

    def _receive_pid(self):
        try:
            if connection.wait([self.sentinel], STARTING):
                return forkserver.read_signed(self.sentinel)
        except EOFError:
            raise SERVER.give_up("cannot fork them") from None
        raise SERVER.give_up(f"has not forked one within {STARTING:g} s")


def write(file, data):
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]
