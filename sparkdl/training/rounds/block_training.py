"""Work of one worker in a round of parameter averaging by the driver."""

import time
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparkdl.data.batches.blocks import permutation
from sparkdl.data.batches.prefetch import prefetch
from sparkdl.data.transforms import in_training
from sparkdl.nn import initial_slots
from sparkdl.nn.execution.device import describe_device
from sparkdl.nn.inputs.tbptt import chunks
from sparkdl.nn.optimization.loss_scale import check_scale
from sparkdl.training.reporting.peak_memory import peak_memory
from sparkdl.training.resident.buffer_mean import changed_numbers
from sparkdl.training.rounds.minibatches import minibatches, records, time_items
from sparkdl.training.rounds.replica import closing_training, limit_threads, replica_for
from sparkdl.training.workers.contribution import Contribution


@dataclass(frozen=True, kw_only=True)
class Round:
    """The data shared by all workers of a round.

    Parameters
    ----------
    conf : NetworkConf
    state : TrainState
        The state that every worker starts from.
    examples : int
        Of all workers together: a worker's vector is weighted by its share of them.
    batch_size, prefetch : int
        Examples of a minibatch, and number of minibatches prepared ahead.
    transform : callable or None
        Batch to Batch, for each minibatch; its `in_training` is used if it has one.
    keep_slots : bool
        Whether the optimizer's state is averaged too; else it is reset in each round.
    device, backend : str
        Where to compute; see TrainingMaster.
    start, stop : int
        Range of the blocks' minibatches; None: up to the last.
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
    start = time.perf_counter()
    replica = replica_for(shared.conf, shared.device, shared.backend)
    with closing_training(replica):
        return train_replica(replica, shared, number, block, start)


def train_replica(replica, shared, number, block, start):
    """Trains a replica, starting from the shared state; see train_block."""
    state = shared.state
    slots = state.slots if shared.keep_slots else initial_slots(shared.conf)
    replica.load(state.params, state.buffers, slots)
    order = permutation(state.seed, state.epoch, number, n=len(block))
    order = order[records(shared, shared.batch_size)]
    transform = in_training(shared.transform, state.seed, state.epoch, replica.decodes)
    prepared = minibatches(block, order, shared.batch_size, transform, shared.conf)
    loss, updates, reading = 0.0, 0, time.perf_counter() - start
    skipped = replica.left_out
    with closing(prefetch(prepared, shared.prefetch)) as batches:
        for batch, waited in time_items(batches):
            for chunk, share, states in chunks(shared.conf, batch):
                iteration = state.iteration + updates
                rate = shared.conf.rate_at(iteration, state.epoch) * state.rate_factor
                updates += 1
                age = iteration + 1 if shared.keep_slots else updates
                replica.iteration, replica.epoch = iteration, state.epoch
                loss += share * replica.step(chunk, rate, age, state.epoch, states)
            reading += waited
    check_scale(shared.conf, replica.buffers)
    skipped = replica.left_out - skipped
    parts = [replica.params, replica.buffers] + [replica.slots] * shared.keep_slots
    vector = np.concatenate(parts) * np.float32(len(order) / shared.examples)
    compute = time.perf_counter() - start - reading
    changed = np.packbits(changed_numbers(replica.buffers, state.buffers))
    devices = {describe_device(replica.backend): 1}
    options = {"skipped": skipped, "devices": devices, "changed": changed}
    times = {"reading": reading, "compute": compute, "memory": peak_memory()}
    return Contribution(vector, len(order), float(loss), updates, **times, **options)
