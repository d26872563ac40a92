"""Worker processes of tests, forked by the hundred from a server that has preloaded the modules.

The server does no work itself, so it has no threads that a fork would lose; it ends with the tests.
"""

import multiprocessing
from contextlib import suppress

import psutil

from sparkdl.training.workers.fork_server.own_server import SERVER

LOADED = ["pytest", "sparkdl.exchange.group", "sparkdl.exchange.store", "tests.exchange.crew"]
LOADED += ["tests.exchange.devices.places", "tests.training.tasks"]
OF_TESTS = ["pytest", "tests.training.tasks"]
LOADED += ["sparkdl.training.workers.local", "sparkdl.training.masters.registry"]
LOADED += ["sparkdl.training.resident.lifecycle", "sparkdl.training.rounds.block_training"]
LOADED += ["sparkdl.engine.native.jit", "llvmlite.binding"]
LOADED += ["tests.support.frozen"]  # the last

forking = multiprocessing.get_context("forkserver")
forking.set_forkserver_preload(LOADED)


def children():
    """Returns this process's descendants, zombies included, but for fork servers, which stay."""
    return {process for process in psutil.Process().children(recursive=True) if counts(process)}


def counts(process):
    with suppress(psutil.NoSuchProcess):  # it has just ended
        return process.name() != "sparkdl-forks"
    return False


def load_tests():
    """Makes the server of LocalWorkers load modules of tests, too; for users it loads its own."""
    SERVER.load(OF_TESTS)
