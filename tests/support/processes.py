"""Worker processes of tests, forked by the hundred from a server that has preloaded the modules.

The server does no work itself, so it has no threads that a fork would lose; it ends with the tests.
"""

import multiprocessing

from sparkdl.training.workers import local

LOADED = ["pytest", "sparkdl.exchange.group", "sparkdl.exchange.store", "tests.exchange.crew"]
LOADED += ["tests.exchange.devices.places", "tests.training.tasks"]
LOADED += ["sparkdl.training.workers.local", "sparkdl.training.masters.registry"]
LOADED += ["sparkdl.training.resident.lifecycle", "sparkdl.training.rounds.block_training"]
LOADED += ["sparkdl.engine.native.jit", "llvmlite.binding"]
LOADED += ["tests.support.frozen"]  # the last

forking = multiprocessing.get_context("forkserver")
forking.set_forkserver_preload(LOADED)


def fork_workers():
    """Makes LocalWorkers fork its processes from the server; for users it spawns them."""
    local.SPAWNING = forking
