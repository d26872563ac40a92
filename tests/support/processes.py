"""Processes that tests start by the hundred: forks of one that has loaded what they all need.

That one runs nothing of its own, thus no thread that a fork would miss; it ends with the tests.
"""

import multiprocessing

LOADED = ["pytest", "sparkdl.exchange.group", "sparkdl.exchange.store", "tests.exchange.crew"]
LOADED += ["tests.exchange.devices.places"]

forking = multiprocessing.get_context("forkserver")
forking.set_forkserver_preload(LOADED)
