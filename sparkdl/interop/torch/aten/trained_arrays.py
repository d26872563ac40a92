"""What torch trains of the arrays of layers, and which layers have the very same ones."""

import logging
from dataclasses import dataclass, replace
from typing import Any

from sparkdl.errors import UnsupportedError

log = logging.getLogger(__name__)
STATISTICS = ("running_mean", "running_var")
# Operations on a parameter alone after which its numbers train as they would inside it.
MOVES = {
    *("alias", "chunk", "clone", "contiguous", "detach", "embedding", "expand", "flatten"),
    *("permute", "reshape", "select", "slice", "split", "split_with_sizes", "squeeze", "t"),
    *("to", "transpose", "unbind", "unflatten", "unsqueeze", "view"),
}


@dataclass(frozen=True)
class Memory:
    """Where the numbers of a tensor lie.

    Parameters
    ----------
    storage, start, stop : int
        A part of the numbers of a storage.
    layout : tuple
        Tensors of one part and one layout are the same tensor.
    """

    storage: int
    start: int
    stop: int
    layout: Any

    def meets(self, other):
        """Returns whether both have numbers in common, or may have."""
        same = self.storage == other.storage
        return same and self.start < other.stop and other.start < self.stop


class TrainedArrays:
    """The tensors that training changes, and the layer that has them.

    Parameters
    ----------
    parameters : iterable of (name, tensor)
        Of the module, for warnings.
    """

    def __init__(self, parameters):
        self.names = {storage_of(one): name for name, one in parameters}
        self.layers, self.copies, self.apart = [], {}, {}

    def memory(self, tensor):
        """Returns the Memory of a tensor; of a copy that of the whole parameter."""
        storage, start = storage_of(tensor), tensor.storage_offset()
        layout = storage, start, tuple(tensor.shape), tensor.stride()
        if storage in self.copies:
            return replace(self.copies[storage], layout=layout)
        steps = zip(tensor.shape, tensor.stride(), strict=True)
        stop = start + 1 + sum((n - 1) * step for n, step in steps)
        return Memory(storage, start, stop, layout)

    def take(self, name, layer, tensors):
        """Notes the tensors of a layer; returns the layer that has these already, or None.

        A parameter that another layer has in another way is a copy.
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
        """Notes which {tensor: Memory} of a new layer others have in another way."""
        known = [one for _, _, theirs in self.layers for one in theirs.values()]
        for tensor, memory in memories.items():
            if any(map(memory.meets, known)):
                if tensor in STATISTICS:
                    raise UnsupportedError(f"{tensor} that two layers follow is not supported")
                self.apart[self.names.get(memory.storage, f"{name}.{tensor}")] = True

    def warn(self):
        """Names the parameters of which several layers have copies."""
        if self.apart:
            log.warning(
                "%s: parameters that layers have in different ways are copies here: they are "
                "trained apart",
                ", ".join(self.apart),
            )

    def note_folded(self, name, sources, made):
        """Notes what an operation makes of constants, if parameters among them are only moved."""
        trained = [one for one in sources if is_trained(one)]
        made = made if isinstance(made, list | tuple) else [made]
        results = [one for one in made if is_trained(one)]
        if not trained or not results:
            return
        if name not in MOVES or len(trained) > 1 or repeats(trained[0], sources, results):
            raise UnsupportedError(
                f"{name} of a parameter, which would be trained as its result, is not supported; "
                "where it need not train, requires_grad_(False) before"
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
    """Returns whether numbers of a parameter stand in the results of a move more than once."""
    indices = [one for one in sources if one is not trained]
    rows = [one.unique().numel() * trained.shape[-1] for one in indices]
    return sum(one.numel() for one in results) > min([trained.numel(), *rows])


def one_row(table, indices, rows):
    """Returns the (..., 1, units) of rows (..., units) that are one row of a table, else all.

    It broadcasts, and stands for a parameter that is trained.
    """
    if not is_trained(table) or indices.numel() < 2 or indices.unique().numel() > 1:
        return rows
    return rows.flatten(0, -2)[:1].reshape((1,) * (rows.ndim - 1) + rows.shape[-1:])


def is_frozen(tensors):
    """Returns whether torch trains none of the {name: tensor or array} of a layer.

    Raises
    ------
    UnsupportedError
        It trains some of them.
    """
    flags = {is_trained(one) for name, one in tensors.items() if name not in STATISTICS}
    if len(flags) > 1:
        names = ", ".join(name for name, one in tensors.items() if is_trained(one))
        raise UnsupportedError(f"training only {names} of {', '.join(tensors)} is not supported")
    return flags == {False}
