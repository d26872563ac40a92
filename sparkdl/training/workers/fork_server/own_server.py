"""The fork server of this process: begun when first used, and replaced when it must be."""

import os
from multiprocessing import spawn
from threading import Lock

from sparkdl.errors import SparkdlError
from sparkdl.training.workers.fork_server.server_process import ServerProcess
from sparkdl.training.workers.fork_server.surroundings import Surroundings

READ_ONCE = (  # beginnings of variables that Python and libraries read when they are loaded
    *("PYTHON", "LD_", "LC_", "LANG", "TZ", "MALLOC_", "GLIBC_"),
    *("OMP_", "KMP_", "MKL_", "OPENBLAS_", "GOTO_", "BLIS_", "NPY_", "NUMPY_", "LLVMLITE_"),
    *("OPENSSL_", "TORCH", "PYTORCH_", "KERAS_", "JAX_", "XLA_"),
)
GRACE = 1.0  # seconds for a server that does not answer to end


class ServerLost(SparkdlError, RuntimeError):
    """The fork server cannot fork."""


class OwnServer:
    """Has a ServerProcess, whose modules have read the variables that this process has now.

    It runs the Python that `multiprocessing.set_executable` has named last.

    A fork of this process begins with none.

    Attributes
    ----------
    is_usable : bool
        False once a server has failed to fork.
    """

    def __init__(self):
        self._modules, self._needed = [], []
        self._reset()

    def load(self, modules):
        """Adds modules to those that a server loads when it begins."""
        self._modules += modules

    def need(self, modules):
        """Adds modules that are slow to load; a server that has begun without them is replaced."""
        self._needed += [name for name in modules if name not in self._needed]

    def fork(self, files):
        """Requests a process.

        Returns
        -------
        (int, int, Surroundings)
            Files, as of ServerProcess.fork; what the process has to take over.
        """
        with self._lock:
            begun_with = spawn.get_executable(), variables_read_once(), list(self._needed)
            if self._server is not None and self._server.exit_code() is not None:
                self._server.end()
                self._server = None
            if self._server is not None and self._begun_with != begun_with:
                self._retire()
            if self._server is None:
                self._server, self._begun_with = self._begin(), begun_with
            surroundings = Surroundings.of_this_process().since(self._server.surroundings)
            return *self._server.fork(files), surroundings

    def give_up(self, why):
        """Uses no server from now on; returns the reason as an error."""
        with self._lock:
            self.is_usable, who = False, ""
            if self._server is not None:
                who, code = f" ({self._server})", self._server.exit_code(GRACE)
                why = why if code is None else f"has ended with exit code {code}"
            self._retire()
        return ServerLost(f"the process that forks workers{who} {why}")

    def hold(self):
        """Waits until no server is being begun, which a fork would know by half."""
        self._lock.acquire()

    def release(self):
        self._lock.release()

    def leave(self):
        """Leaves the servers to the process that this one was forked from."""
        for server in [self._server, *self._retired]:
            if server is not None:
                server.leave()
        self._reset()

    def _begin(self):
        try:
            return ServerProcess([*self._modules, *self._needed])
        except OSError as error:
            self.is_usable = False
            raise ServerLost(f"the process that forks workers cannot start: {error}") from error

    def _retire(self):
        for one in [one for one in self._retired if one.exit_code() is not None]:
            one.end()
            self._retired.remove(one)
        if self._server is not None:
            self._server.retire()
            self._retired.append(self._server)
            self._server = None

    def _reset(self):
        self._lock, self.is_usable = Lock(), True
        self._server, self._begun_with, self._retired = None, None, []


def variables_read_once():
    return {name: os.environ[name] for name in os.environ if name.startswith(READ_ONCE)}


SERVER = OwnServer()
os.register_at_fork(before=SERVER.hold, after_in_parent=SERVER.release, after_in_child=SERVER.leave)
