"""Arrays that torch trains, and the layers that share them."""

import logging
from dataclasses import dataclass, replace
from typing import Any

from sparkdl.errors import UnsupportedError

log = logging.getLogger(__name__)
STATISTICS = ("running_mean", "running_var")
# Operations that only move a parameter's numbers, which then train as the parameter.
MOVES = {
    *("alias", "chunk", "clone", "contiguous", "detach", "embedding", "expand", "flatten"),
    *("permute", "reshape", "select", "slice", "split", "split_with_sizes", "squeeze", "t"),
    *("to", "transpose", "unbind", "unflatten", "unsqueeze", "view"),
}


@dataclass(frozen=True)
class Memory:
    """The memory of a tensor.

    Parameters
    ----------
    storage, start, stop : int
        A range of elements in a storage.
    layout : tuple
        Tensors with equal ranges and layouts are the same tensor.
    """

    storage: int
    start: int
    stop: int
    layout: Any

    def meets(self, other):
        """Returns whether the ranges of both overlap."""
        same = self.storage == other.storage
        return same and self.start < other.stop and other.start < self.stop


class TrainedArrays:
    """The tensors that training changes, and the layers that have them.

    Parameters
    ----------
    parameters : iterable of (name, tensor)
        Of the module, for warnings.
    """

    def __init__(self, parameters):
        self.names = {storage_of(one): name for name, one in parameters}
        self.layers, self.copies, self.apart = [], {}, {}

    def memory(self, tensor):
        """Returns the Memory of a tensor, and for a copy that of the whole parameter."""
        storage, start = storage_of(tensor), tensor.storage_offset()
        layout = storage, start, tuple(tensor.shape), tensor.stride()
        if storage in self.copies:
            return replace(self.copies[storage], layout=layout)
        steps = zip(tensor.shape, tensor.stride(), strict=True)
        stop = start + 1 + sum((n - 1) * step for n, step in steps)
        return Memory(storage, start, stop, layout)

    def take(self, name, layer, tensors):
        """Records a layer's tensors; returns the layer that already has the same ones, or None.

        A parameter that another layer uses in a different way is a copy.
        """
        changing = {n: one for n, one in tensors.items() if n in STATISTICS or is_trained(one)}
        mine, kind = {n: self.memory(one) for n, one in changing.items()}, type(layer)
        for owner, its_kind, theirs in self.layers:
            if mine and mine == theirs and kind is its_kind:
                return owner
        self.note_copies(name, mine)
        self.layers.append((name, kind, mine))
        return None

    def note_copies(self, name, memories):
        """Records which tensors of a new layer overlap those of other layers."""
        known = [one for _, _, theirs in self.layers for one in theirs.values()]
        for tensor, memory in memories.items():
            if any(map(memory.meets, known)):
                if tensor in STATISTICS:
                    raise UnsupportedError(f"{tensor} that two layers update is not supported")
                self.apart[self.names.get(memory.storage, f"{name}.{tensor}")] = True

    def warn(self):
        """Warns of parameters that several layers have copies of."""
        if self.apart:
            log.warning(
                "%s: parameters that layers use in different layouts become copies, which are "
                "trained separately",
                ", ".join(self.apart),
            )

    def note_folded(self, name, sources, made):
        """Records the result of an operation on constants; parameters in it must only be moved."""
        trained = [one for one in sources if is_trained(one)]
        made = made if isinstance(made, list | tuple) else [made]
        results = [one for one in made if is_trained(one)]
        if not trained or not results:
            return
        if name not in MOVES or len(trained) > 1 or repeats(trained[0], sources, results):
            raise UnsupportedError(
                f"{name} of a parameter, whose result would be trained in its place, is not "
                "supported; if it need not be trained, call requires_grad_(False) first"
            )
        source = self.memory(trained[0])
        for one in results:
            if storage_of(one) != storage_of(trained[0]):
                self.copies[storage_of(one)] = source


def storage_of(tensor):
    return tensor.untyped_storage().data_ptr()


def is_trained(value):
    return getattr(value, "requires_grad", False)


def repeats(trained, sources, results):
    """Returns whether numbers of a parameter occur more than once in the results of a move."""
    indices = [one for one in sources if one is not trained]
    rows = [one.unique().numel() * trained.shape[-1] for one in indices]
    return sum(one.numel() for one in results) > min([trained.numel(), *rows])


def one_row(table, indices, rows):
    """Returns rows (..., units) that are all one row of a table as (..., 1, units), else all rows.

    The result broadcasts, and represents a trained parameter.
    """
    if not is_trained(table) or indices.numel() < 2 or indices.unique().numel() > 1:
        return rows
    return rows.flatten(0, -2)[:1].reshape((1,) * (rows.ndim - 1) + rows.shape[-1:])


def is_frozen(tensors):
    """Returns whether torch trains none of a layer's arrays, {name: tensor or array}.

    Raises
    ------
    UnsupportedError
        If it trains only some of them.
    """
    flags = {is_trained(one) for name, one in tensors.items() if name not in STATISTICS}
    if len(flags) > 1:
        names = ", ".join(name for name, one in tensors.items() if is_trained(one))
        raise UnsupportedError(f"training only {names} of {', '.join(tensors)} is not supported")
    return flags == {False}
