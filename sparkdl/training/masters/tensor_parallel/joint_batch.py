"""The minibatches of several workers, joined into one that each of them receives."""

import json
from typing import NamedTuple

import numpy as np

from sparkdl.data.batches.batch import Batch
from sparkdl.errors import DataError
from sparkdl.nn.execution.batch_tensors import IDS
from sparkdl.nn.inputs.columns import NO_MASK
from sparkdl.training.inputs.schema import masks_of, masks_of_labels_alone
from sparkdl.training.masters.minibatch_exchange import MinibatchExchange, pack, unpack


class JointBatch(NamedTuple):
    """The minibatches of a group of workers, concatenated.

    Parameters
    ----------
    batch : Batch
        In the order of ranks.
    share : float
        As GradientStep.share.
    states : dict or None
        For Replica.gradient.
    """

    batch: Batch
    share: float
    states: dict | None


class JointBatches(MinibatchExchange):
    """Joins the minibatches of workers that hold parts of the same layers.

    Parameters
    ----------
    worker : Worker
    parts : Group
        Of these workers.
    """

    def __init__(self, worker, parts):
        super().__init__(worker)
        self.parts, self._joint_states = parts, None
        self._masks = {*masks_of(worker.conf).values()}
        self._of_labels = masks_of_labels_alone(worker.conf)

    def exchange(self, step):
        """Sends this worker's minibatch, or that it has none, to the others.

        Parameters
        ----------
        step : GradientStep or None

        Returns
        -------
        joint : JointBatch or None
            Of all workers in the group; None if none of them has a minibatch.
        examples : (int, int)
            Of the group, and of all groups.

        Raises
        ------
        DataError
            If minibatches differ in more than the number of examples and the masks present: a
            worker leaves out a mask that is full.
        """
        own, here, counts = self._meet(step, self.parts)
        present = [minibatch for minibatch in here if minibatch is not None]
        masks = masks_in(present, self._masks)
        check_alike(present, masks)
        pairs = zip(here, self.parts.all_gather_bytes(pack(own.values())), strict=True)
        batches = [
            batch_of(minibatch, data, masks, self._of_labels)
            for minibatch, data in pairs
            if minibatch
        ]
        if not batches:
            return None, counts
        states = self._states_of(present[0])
        return JointBatch(Batch.concat(batches), present[0].share, states), counts

    def _states_of(self, minibatch):
        """Returns the states that recurrent layers continue from, updated in place; None without
        tbptt.
        """
        if self.worker.conf.tbptt is None:
            return None
        if minibatch.begins:
            self._joint_states = {}
        return self._joint_states


def masks_in(minibatches, names):
    """Returns {column: (type, shape of one example)} of the masks that any Minibatch has.

    Parameters
    ----------
    minibatches : list of Minibatch
    names : set of str
        Of the columns that are masks.
    """
    forms = (column for minibatch in minibatches for column in minibatch.form)
    return {name: (kind, shape[1:]) for name, kind, shape in forms if name in names}


def check_alike(minibatches, masks):
    """Raises DataError unless Minibatches differ only in the number of examples.

    Each is treated as if it had all `masks`, as `masks_in` gives them.
    """
    shapes = [shapes_with(minibatch, masks) for minibatch in minibatches]
    pairs = zip(minibatches, shapes, strict=True)
    alike = {json.dumps([m.begins, m.share, one], sort_keys=True) for m, one in pairs}
    if len(alike) > 1:
        raise DataError(
            "TensorParallel joins the minibatches of workers, which must have the same columns and "
            f"steps, got {' and '.join(map(str, shapes))}; pad sequences to one length, or take "
            "AllReduceSGD"
        )


def shapes_with(minibatch, masks):
    """Returns {column: shape of one example} of a Minibatch and of the `masks` that it lacks."""
    shapes = {name: tuple(shape[1:]) for name, _, shape in minibatch.form if name != IDS}
    full = {name: tuple(shape) for name, (_, shape) in masks.items()}
    return shapes | {name: shape for name, shape in full.items() if name not in shapes}


def batch_of(minibatch, data, masks, of_labels):
    """Returns the Batch of a worker's packed columns and of the `masks` that it lacks.

    Missing masks are filled with 1, or with NO_MASK if they are `of_labels`.
    """
    columns = {name: column.copy() for name, column in unpack(minibatch.form, data).items()}
    idle = {
        name: np.full((minibatch.examples, *shape), NO_MASK if name in of_labels else 1, kind)
        for name, (kind, shape) in masks.items()
    }
    return Batch(ids=columns.pop(IDS), columns=idle | columns)
