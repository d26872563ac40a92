"""Processes that tests start by the hundred: forks of one that has loaded what they all need.

That one runs nothing of its own, thus no thread that a fork would miss; it ends with the tests.
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
    """From now on the processes of LocalWorkers are such forks too; users have theirs spawned."""
    local.starting = forking
