"""One fit with one fault, and what became of it."""

import random
import tempfile
import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import psutil

from sparkdl.errors import SparkdlError
from sparkdl.spark import SparkNetwork
from tests.chaos.faults import FAULTS, LIMIT, Striker
from tests.spark.networks import arrays, rich
from tests.spark.slow import Slow
from tests.spark.test_traces import cached, files
from tests.support.waiting import gone, until
from tests.training.master_table import MASTERS

RECORDS, EPOCHS, WORKERS = 62, 3, 3  # on two slots: one task has two workers
PAUSE = 0.03  # seconds of a minibatch


class Outcome(NamedTuple):
    """What became of a fit.

    Parameters
    ----------
    master, fault : str
    struck : bool
        Whether the fit was still training when the fault was due.
    seconds : float
    restarts : int
    error : str
        The name of the error that it raised, "" where it has finished.
    wrong : tuple of str
        What should not be.
    """

    master: str
    fault: str
    struck: bool
    seconds: float
    restarts: int
    error: str
    wrong: tuple[str, ...]


def fit(sc, name, transform):
    """Returns (SparkNetwork, History) of a fit of a master of the table."""
    master = replace(MASTERS[name].master, workers=WORKERS)
    if master.resident:
        master = replace(master, timeout=LIMIT, stall_timeout=10 * LIMIT, snapshot_every=2)
    net = SparkNetwork(sc, rich(), master)
    return net, net.fit(arrays(RECORDS, 25, transform), epochs=EPOCHS)


def take_turn(sc, seed, calm):
    """Returns the Outcome of a fit with a fault, both of this seed.

    Parameters
    ----------
    calm : function of a master's name
        Returns the parameters of the fit that nothing disturbs.
    """
    draw = random.Random(seed)
    name, fault = draw.choice(list(MASTERS)), draw.choice(list(FAULTS))
    after = draw.randrange(2, RECORDS * EPOCHS // 8)
    expected, before, start = calm(name), traces(sc), time.monotonic()
    error, history, params = "", None, None
    with tempfile.TemporaryDirectory() as folder:
        slow = Slow(folder, PAUSE)
        striker = Striker(slow, after, draw.choice, FAULTS[fault])
        striker.start()
        try:
            net, history = fit(sc, name, slow)
            params = net.network.state.params
        except SparkdlError as raised:
            error = f"{type(raised).__name__}: {raised}"
        seconds = time.monotonic() - start
        striker.end()
        spawned = [one for one in map(process, slow.processes()) if one and is_spawned(one)]
    wrong = [] if params is None else wrongs(name, params, expected, history)
    if not all(until(lambda one=one: gone(one)) for one in spawned):
        wrong.append("processes left")
    if traces(sc) != before:
        wrong.append(f"left: {traces(sc)}, before: {before}")
    restarts = len(history.restarts) if history else 0
    return Outcome(name, fault, striker.struck, seconds, restarts, error, tuple(wrong))


def wrongs(name, params, expected, history):
    found = []
    if MASTERS[name].same_bits and not np.array_equal(params, expected):
        found.append("other weights")
    if [epoch.examples for epoch in history.epochs] != [RECORDS] * EPOCHS:
        found.append(f"examples {[epoch.examples for epoch in history.epochs]}")
    return found


def traces(sc):
    return files(sc), cached(sc)


def process(pid):
    try:
        return psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None


def is_spawned(process):
    """Returns whether a process is a task's own; Spark keeps those of its daemon."""
    try:
        return "spawn_main" in " ".join(process.cmdline())
    except psutil.Error:
        return False
