"""Tasks for the workers of the store tests."""

import os
import signal
import time
from contextlib import contextmanager

import numpy as np

from sparkdl.exchange.store import KeyValueStore

STEPS = 5
SIZES = {"w": (3, 4), "b": (), "big": (1001,)}
BIG = 100  # keys with more numbers are split


@contextmanager
def opened(*places, **options):
    """Yields a KeyValueStore; closes it, at once after an error."""
    store = KeyValueStore(*places, **options)
    try:
        yield store
        store.close()
    finally:
        store.abandon()


def pushpull(store, key, value, out):
    """Pushes, then pulls; returns the Outcome of the push."""
    outcome = store.push(key, value)
    store.pull(key, out)
    return outcome


def broadcast(store, key, value, out):
    """Gives all workers the values of rank 0."""
    store.init(key, value)
    store.pull(key, out)


def descend(key, value, gradient, slots):
    """SGD with momentum, so that there are slots to keep."""
    velocity = slots.setdefault("velocity", np.zeros_like(value))
    slots["steps"] = slots.get("steps", 0) + 1
    velocity *= 0.5
    velocity += gradient
    value -= velocity


def values(seed=0):
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.normal(size=shape), np.float32) for shape in SIZES.values()]


def gradients(rank, step):
    return [np.full(shape, (rank + 1) * (step + 1), np.float32) for shape in SIZES.values()]


def train(store, steps=STEPS):
    """Trains some steps; returns the final values of all keys."""
    keys, out = list(SIZES), [np.empty_like(value) for value in values()]
    store.set_optimizer(descend)
    broadcast(store, keys, values(store.rank), out)
    for step in range(steps):
        pushpull(store, keys, gradients(store.rank, step), out)
    store.barrier()
    store.pull(keys, out)
    return [array.tolist() for array in out]


def expected(size, steps=STEPS):
    """Returns what `train` returns in mode "sync"."""
    out, slots = values(0), {}
    for step in range(steps):
        several = [gradients(rank, step) for rank in range(size)]
        for key, value, *parts in zip(SIZES, out, *several, strict=True):
            descend(key, value, sum(parts[1:], parts[0]), slots.setdefault(key, {}))
    return [array.tolist() for array in out]


def killed(store, who, sign):
    """Rank `who` is killed or stopped in the middle; the others' error must name it."""
    value = np.zeros(10, np.float32)
    store.set_optimizer(descend)
    broadcast(store, "w", value, value)
    for step in range(1000):
        if store.rank == who and step == 3:
            os.kill(os.getpid(), sign)
        pushpull(store, "w", np.ones(10, np.float32), value)
        time.sleep(0.01)
    return "went on"


KILL, STOP = signal.SIGKILL, signal.SIGSTOP
