"""What a worker does in a round of parameter averaging."""

import os
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from sparkdl.data.blocks import permutation
from sparkdl.data.prefetch import prefetch
from sparkdl.data.transforms import in_training
from sparkdl.nn import initial_slots
from sparkdl.nn.replica import Replica
from sparkdl.nn.truncated import chunks
from sparkdl.training.aggregate import Contribution
from sparkdl.training.minibatch import ready


@dataclass(frozen=True, kw_only=True)
class Round:
    """What all workers of a round share.

    Parameters
    ----------
    conf : NetworkConf
    state : TrainState
        What every worker starts from.
    examples : int
        Of all workers together: a worker's vector weighs by its share of them.
    batch_size, prefetch : int
        Examples of a minibatch, and how many minibatches are made ready ahead.
    transform : callable or None
        Batch to Batch, for each minibatch; `in_training` where it has that.
    keep_slots : bool
        Whether the updater's state is averaged too; else it starts anew in each round.
    backend : str
        Of the engine.
    """

    conf: Any
    state: Any
    examples: int
    batch_size: int
    prefetch: int
    transform: Any
    keep_slots: bool
    backend: str


def train_block(shared, number, block):
    """Train on one block for as many minibatches as it holds: the worker's Contribution."""
    limit_threads()
    began = time.perf_counter()
    replica, state = replica_for(shared.conf, shared.backend), shared.state
    slots = state.slots if shared.keep_slots else initial_slots(shared.conf)
    replica.load(state.params, state.buffers, slots)
    order = permutation(state.seed, state.epoch, number, n=len(block))
    transform = in_training(shared.transform, state.seed, state.epoch)
    made = minibatches(block, order, shared.batch_size, transform, shared.conf)
    batches = prefetch(made, shared.prefetch)
    loss, updates, reading = 0.0, 0, time.perf_counter() - began
    for batch, waited in timed(batches):
        for chunk, share, states in chunks(shared.conf, batch):
            iteration = state.iteration + updates
            rate = shared.conf.rate_at(iteration, state.epoch)
            updates += 1
            age = iteration + 1 if shared.keep_slots else updates
            loss += share * replica.step(chunk, rate, age, state.epoch, states)
        reading += waited
    parts = [replica.params, replica.buffers] + [replica.slots] * shared.keep_slots
    vector = np.concatenate(parts) * np.float32(len(block) / shared.examples)
    compute = time.perf_counter() - began - reading
    return Contribution(vector, len(block), loss, updates, reading, compute)


def minibatches(block, order, size, transform, conf):
    """The block's minibatches in this order, the last one smaller, ready for the replica."""
    for start in range(0, len(block), size):
        yield ready(block.take(order[start : start + size]), transform, conf)


def timed(iterator):
    """(item, seconds waited for it)"""
    while True:
        began = time.perf_counter()
        try:
            item = next(iterator)
        except StopIteration:
            return
        yield item, time.perf_counter() - began


@lru_cache(maxsize=2)
def replica_for(conf, backend):
    """The replica of this process: compiled programs outlive the task, as the process does."""
    return Replica(conf, backend)


@lru_cache(maxsize=1)
def limit_threads():
    """As many threads for products as the task owns cores, which its executor's environment says.

    Spark sets OMP_NUM_THREADS to spark.task.cpus, as executors share their hosts' cores. Without it
    there are as many as this process may use.
    """
    threads = os.environ.get("OMP_NUM_THREADS") or str(len(os.sched_getaffinity(0)))
    return threadpool_limits(int(threads.split(",")[0]))
