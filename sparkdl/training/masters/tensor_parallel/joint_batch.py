"""The minibatches of several workers as one, which each of them gets."""

import json
from typing import NamedTuple

from sparkdl.data.batches.batch import Batch
from sparkdl.errors import DataError
from sparkdl.training.masters.minibatch_exchange import IDS, MinibatchExchange, pack, unpack


class JointBatch(NamedTuple):
    """The minibatches of a group of workers as one.

    Parameters
    ----------
    batch : Batch
        By rank.
    share : float
        As GradientStep.share.
    states : dict or None
        For Replica.gradient.
    """

    batch: Batch
    share: float
    states: dict | None


class JointBatches(MinibatchExchange):
    """Joins the minibatches of the workers that have parts of the same layers.

    Parameters
    ----------
    worker : Worker
    parts : Group
        Of these workers.
    """

    def __init__(self, worker, parts):
        super().__init__(worker)
        self.parts, self._joint_states = parts, None

    def exchange(self, step):
        """Sends this worker's minibatch, or that it has none, to the others.

        Parameters
        ----------
        step : GradientStep or None

        Returns
        -------
        joint : JointBatch or None
            Of all in the group; None where none of them has a minibatch.
        examples : (int, int)
            Of the group, and of all groups.

        Raises
        ------
        DataError
            Where minibatches differ in more than the number of examples.
        """
        own, here, counts = self._meet(step, self.parts)
        present = [minibatch for minibatch in here if minibatch is not None]
        check_alike(present)
        pairs = zip(here, self.parts.all_gather_bytes(pack(own.values())), strict=True)
        batches = [batch_of(minibatch, part) for minibatch, part in pairs if minibatch is not None]
        if not batches:
            return None, counts
        states = self._states_of(present[0])
        return JointBatch(Batch.concat(batches), present[0].share, states), counts

    def _states_of(self, minibatch):
        """Returns what recurrent layers go on from, to be filled; None without tbptt."""
        if self.worker.conf.tbptt is None:
            return None
        if minibatch.begins:
            self._joint_states = {}
        return self._joint_states


def check_alike(minibatches):
    """Raises DataError unless Minibatches differ in nothing but the number of examples."""
    alike = {
        json.dumps([m.begins, m.share, [[name, shape[1:]] for name, _, shape in m.form]])
        for m in minibatches
    }
    if len(alike) > 1:
        shapes = " and ".join(str([shape for _, _, shape in m.form]) for m in minibatches)
        raise DataError(
            "TensorParallel joins the minibatches of workers, which must have the same columns and "
            f"steps, got {shapes}; pad sequences to one length, or take AllReduceSGD"
        )


def batch_of(minibatch, data):
    """Returns the Batch of a worker's packed columns."""
    columns = {name: column.copy() for name, column in unpack(minibatch.form, data).items()}
    return Batch(ids=columns.pop(IDS), columns=columns)
