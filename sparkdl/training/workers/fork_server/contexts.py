"""What starts worker processes: a fork server where that is possible, else "spawn"."""

import logging
import multiprocessing
import sys
from multiprocessing.context import BaseContext, SpawnProcess

from sparkdl.training.workers.fork_server.own_server import SERVER, ServerLost

log = logging.getLogger(__name__)
OF_A_FIT = [  # modules that any worker needs; none calls CUDA or loads oneDNN
    "sparkdl.training.masters.registry",
    "sparkdl.training.resident.fit_setup",
    "sparkdl.training.resident.lifecycle",
    "sparkdl.training.rounds.block_training",
    "sparkdl.engine.backends.onednn.backend",
    "llvmlite.binding",
]


def process_context(modules):
    """Returns the multiprocessing context that starts worker processes.

    Parameters
    ----------
    modules : list of str
        Those of a worker; loading them starts no thread that works, and reads nothing of a user's.
    """
    if sys.platform != "linux" or getattr(sys, "frozen", False):
        return multiprocessing.get_context("spawn")
    SERVER.load(modules)
    return ForkContext()


class ForkedProcess(SpawnProcess):
    """A process that is forked from the server of its owner; spawned if the server fails."""

    @staticmethod
    def _Popen(process):
        from sparkdl.training.workers.fork_server.popen import ForkedPopen

        if SERVER.is_usable:
            try:
                return ForkedPopen(process)
            except ServerLost as error:
                log.warning("%s; from now on, worker processes are spawned", error)
        return SpawnProcess._Popen(process)


class ForkContext(BaseContext):
    """The part of a multiprocessing context that workers use: `Process` and `Pipe`."""

    _name = "sparkdl fork server"
    Process = ForkedProcess
