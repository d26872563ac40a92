"""Work of one worker in a round of parameter averaging."""

import os
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from sparkdl.data.batches.blocks import permutation
from sparkdl.data.batches.prefetch import prefetch
from sparkdl.data.transforms import in_training
from sparkdl.nn import initial_slots
from sparkdl.nn.execution.device import choose_backend, describe_device
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.inputs.tbptt import chunks
from sparkdl.nn.optimization.loss_scale import check_scale
from sparkdl.training.inputs.minibatch import prepare_minibatch
from sparkdl.training.workers.contribution import Contribution


@dataclass(frozen=True, kw_only=True)
class Round:
    """The data that all workers of a round share.

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
        Whether the optimizer's state is averaged too; else it starts anew in each round.
    device, backend : str
        Where it is computed; see TrainingMaster.
    start, stop : int
        Which minibatches of the blocks; None: up to the last.
    """

    conf: Any
    state: Any
    examples: int
    batch_size: int
    prefetch: int
    transform: Any
    keep_slots: bool
    device: str
    backend: str
    start: int = 0
    stop: int | None = None


def train_block(shared, number, block):
    """Trains on minibatches of one block; returns the worker's Contribution."""
    limit_threads()
    began = time.perf_counter()
    replica, state = replica_for(shared.conf, shared.device, shared.backend), shared.state
    slots = state.slots if shared.keep_slots else initial_slots(shared.conf)
    replica.load(state.params, state.buffers, slots)
    order = permutation(state.seed, state.epoch, number, n=len(block))
    order = order[records(shared, shared.batch_size)]
    transform = in_training(shared.transform, state.seed, state.epoch, replica.decodes)
    made = minibatches(block, order, shared.batch_size, transform, shared.conf)
    batches = prefetch(made, shared.prefetch)
    loss, updates, reading = 0.0, 0, time.perf_counter() - began
    skipped = replica.left_out
    for batch, waited in time_items(batches):
        for chunk, share, states in chunks(shared.conf, batch):
            iteration = state.iteration + updates
            rate = shared.conf.rate_at(iteration, state.epoch)
            updates += 1
            age = iteration + 1 if shared.keep_slots else updates
            loss += share * replica.step(chunk, rate, age, state.epoch, states)
        reading += waited
    check_scale(shared.conf, replica.buffers)
    skipped = replica.left_out - skipped
    parts = [replica.params, replica.buffers] + [replica.slots] * shared.keep_slots
    vector = np.concatenate(parts) * np.float32(len(order) / shared.examples)
    compute = time.perf_counter() - began - reading
    options = {"skipped": skipped, "devices": {describe_device(replica.backend): 1}}
    times = {"reading": reading, "compute": compute}
    return Contribution(vector, len(order), float(loss), updates, **times, **options)


def minibatches(block, order, size, transform, conf):
    """Yields minibatches of the block in this order, the last one smaller, for the replica."""
    for start in range(0, len(order), size):
        yield prepare_minibatch(block.take(order[start : start + size]), transform, conf)


def records(part, size):
    """Returns the records of minibatches `start` to `stop` of a RoundPart or Round."""
    return slice(part.start * size, None if part.stop is None else part.stop * size)


def time_items(iterator):
    """Yields (item, seconds waited for it)"""
    while True:
        began = time.perf_counter()
        try:
            item = next(iterator)
        except StopIteration:
            return
        yield item, time.perf_counter() - began


@lru_cache(maxsize=2)
def replica_for(conf, device="auto", backend="auto"):
    """Returns the replica of this process: like that, compiled programs outlive the task."""
    return Replica(conf, choose_backend(device, backend))


@lru_cache(maxsize=1)
def limit_threads():
    """Limits the threads for products to the cores that the task owns.

    Spark sets OMP_NUM_THREADS to spark.task.cpus, as executors share their hosts' cores. Without it
    there are as many as this process may use.
    """
    threads = os.environ.get("OMP_NUM_THREADS") or str(len(os.sched_getaffinity(0)))
    return threadpool_limits(int(threads.split(",")[0]))
