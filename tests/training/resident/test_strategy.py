"""Calls to a strategy during a worker's life: their order, their steps, and the kept state."""

from dataclasses import dataclass

import numpy as np
import pytest

from sparkdl.training.masters.base import ResidentMaster
from sparkdl.training.network import Network
from sparkdl.training.resident.strategy import Strategy
from sparkdl.training.resident.synchronization import synchronize
from sparkdl.training.saving.checkpoint import Checkpoints
from tests.training.masters.test_base import Stop
from tests.training.problems import Partitions, perceptron


@dataclass(frozen=True, kw_only=True)
class Counting(ResidentMaster, abstract=True):
    """A master that trains nothing and counts its calls."""

    lockstep: bool = False
    minibatches_per_round = 3

    def strategy(self, worker):
        return Counts(self, worker)


class Counts(Strategy):
    """Counts rounds, steps, empty steps, and ends of epochs."""

    def __init__(self, master, worker):
        super().__init__(master, worker)
        self.lockstep = master.lockstep
        self.counts = np.array(worker.master_state.get("counts", np.zeros(4)))

    def round(self, steps):
        self.counts[0] += 1
        for step in steps:
            self.counts[1 if step is not None else 2] += 1
            if step is not None:
                self.worker.gradient(step)

    def end_epoch(self):
        self.counts[3] += 1

    def state(self):
        counts = self.worker.group.all_reduce(self.counts.copy())
        return super().state() | {"master_state": {"counts": counts / self.worker.size}}


def fit(workers, counts, epochs=2, lockstep=False, **options):
    master = Counting(batch_size_per_worker=4, lockstep=lockstep, stall_timeout=30.0)
    network = Network(perceptron())
    history = network.fit(Partitions(counts), epochs, master, workers, **options)
    return network.state, history


@pytest.mark.slow
def test_own_steps_only(crews):
    """Blocks of 12, 12 and 5 records: two with 3 minibatches, one with 2."""
    state, history = fit(crews(2), [29], epochs=2)
    assert (2 * state.master_state["counts"]).tolist() == [2 * 2 * 2, 2 * 8, 0, 2 * 2]
    assert len(history.rounds) == 4


def test_as_many_steps_for_all(crews):
    """A worker without a block in a round gets empty steps."""
    state, history = fit(crews(2), [36], lockstep=True)
    assert (2 * state.master_state["counts"]).tolist() == [2 * 2 * 2, 2 * 9, 2 * 3, 2 * 2]
    assert [report.workers for report in history.rounds] == [2, 1] * 2


@pytest.mark.slow
def test_what_is_kept_goes_through_checkpoints(crews, tmp_path):
    whole, history = fit(crews(2), [60], epochs=3)
    options = {"epochs": 3, "checkpoints": Checkpoints(path=tmp_path, every_rounds=1)}
    with pytest.raises(InterruptedError):
        fit(crews(2), [60], listeners=[Stop(4)], **options)
    state, _ = fit(crews(2), [60], resume=tmp_path, **options)
    np.testing.assert_array_equal(state.master_state["counts"], whole.master_state["counts"])
    assert state.master_state["counts"][0] == len(history.rounds)


@dataclass(frozen=True, kw_only=True)
class Drifting(Counting):
    """Makes rank 1 drift: more updates and other parameters."""

    def strategy(self, worker):
        return Drift(self, worker)


class Drift(Counts):
    def end_epoch(self):
        worker = self.worker
        worker.replica.params += worker.rank
        worker.iteration += 5 * (worker.rank == 1)
        synchronize(worker)

    def state(self):
        params = self.worker.replica.params
        most, least = (self.worker.group.all_reduce(params.copy(), op) for op in ("max", "min"))
        return super().state() | {"master_state": {"spread": most - least}}


@pytest.mark.slow
def test_who_has_most_updates_gives_the_others_all(crews):
    network = Network(perceptron())
    before = network.state.params
    network.fit(Partitions([36]), 1, Drifting(batch_size_per_worker=4), crews(3))
    assert not network.state.master_state["spread"].any()
    np.testing.assert_array_equal(network.state.params, before + 1)
    assert network.state.iteration == 5
