"""Compiled row updates equal each optimizer's numpy formula, bit for bit."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl import optimizers
from sparkdl.engine import ops
from sparkdl.errors import UnsupportedError
from sparkdl.nn.optimizers.base import Optimizer
from sparkdl.nn.tables.row_keys import RowKeys
from sparkdl.nn.tables.row_moves import decay_of, moves_of
from sparkdl.nn.tables.table_group import TableGroup

ROWS, RATE, T = 300, np.float32(0.1), np.float32(3)


def elementwise():
    """Returns {name: optimizer} of all elementwise optimizers."""
    classes = (getattr(optimizers, name) for name in optimizers.__all__)
    found = [each for each in classes if isinstance(each, type) and issubclass(each, Optimizer)]
    return {each.__name__: each() for each in found if each is not Optimizer and each.elementwise}


OPTIMIZERS = elementwise()


def random_arrays(optimizer, dimension, rng):
    """Returns nonnegative {name: (ROWS, dimension)} rows and slots; some slots are squares."""
    names = "rows", *optimizer.slot_names
    return {name: rng.random((ROWS, dimension)).astype(np.float32) for name in names}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dimension, decay", [(1, 0.0), (3, 0.3), (16, 0.0), (40, 0.3)])
def test_rows_are_those_of_the_formulas(name, dimension, decay, rng):
    optimizer = replace(OPTIMIZERS[name], weight_decay=decay)
    arrays = random_arrays(optimizer, dimension, rng)
    expected = {name: array.copy() for name, array in arrays.items()}
    places = rng.permutation(ROWS)[: ROWS // 2]
    gradients = rng.normal(size=(len(places), dimension)).astype(np.float32)
    old = {name: array[places] for name, array in arrays.items()}
    rows = old.pop("rows")
    step, new = optimizer.move(rows, gradients, old, RATE, T, None, decay_of(optimizer))
    for name_, values in {"rows": rows + step, **new}.items():
        expected[name_][places] = values
    moves_of(optimizer).run(arrays, places, gradients, RATE, T)
    for name_, array in expected.items():
        np.testing.assert_array_equal(arrays[name_], array)


class Halved(Optimizer, abstract=True):
    """Moves by the mean of all gradients, so it is not elementwise."""

    def update(self, grad, slots, rate, t):
        return ops.mul(ops.sum(grad), -rate), slots


class Twice(Optimizer, abstract=True):
    """Has two slots that are set to one value."""

    slot_names = ("a", "b")

    def update(self, grad, slots, rate, t):
        new = ops.add(ops.mul(slots["a"], 0.5), grad)
        return ops.mul(ops.add(new, slots["b"]), -rate), {"a": new, "b": new}


class Last(Optimizer, abstract=True):
    """Stores the gradient itself as its slot."""

    slot_names = ("last",)

    def update(self, grad, slots, rate, t):
        return ops.mul(ops.add(grad, slots["last"]), -rate), {"last": grad}


@pytest.mark.parametrize(
    "optimizer", [Halved(), Twice(), Last()], ids=lambda one: type(one).__name__
)
def test_formulas_that_are_no_chain_are_refused_and_change_nothing(optimizer):
    arrays = {name: np.ones((4, 3), np.float32) for name in ("rows", *optimizer.slot_names)}
    with pytest.raises(UnsupportedError, match="no chain"):
        moves_of(optimizer).run(arrays, np.arange(2), np.ones((2, 3), np.float32), RATE, T)
    assert all((array == 1).all() for array in arrays.values())


@pytest.mark.parametrize("kind", ["float64", "float16", "of one row"])
def test_gradients_of_other_types_move_rows_too(kind):
    slopes = np.broadcast_to(np.ones(3, np.float32), (2, 3))
    slopes = slopes if kind == "of one row" else slopes.astype(kind)
    one, other = (TableGroup(["words"], 3, OPTIMIZERS["Adam"]) for _ in range(2))
    one.update(RowKeys.of([1, 2]), slopes, 0.1, 1)
    other.update(RowKeys.of([1, 2]), np.ones((2, 3), np.float32), 0.1, 1)
    np.testing.assert_array_equal(*(group.read(RowKeys.of([1, 2])) for group in (one, other)))
