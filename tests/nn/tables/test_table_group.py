"""Groups of tables: initial values, updates against numpy and torch, memory, errors."""

import numpy as np
import pytest

from sparkdl.engine.native import table_rows
from sparkdl.errors import ConfigError, DivergedError, ShapeError, UnsupportedError
from sparkdl.nn import AdaGrad, Adam, Ftrl, Lamb, Momentum, Sgd
from sparkdl.nn.tables import table_group
from sparkdl.nn.tables.row_keys import MOST_TABLES, RowKeys
from sparkdl.nn.tables.table_group import TableGroup

FAR = 2**62  # beyond float32 and int32


def table(optimizer=None, dimension=3, **options):
    return TableGroup(["words"], dimension, optimizer or Sgd(), **options)


def keys(*ids, table=0):
    return RowKeys.of(ids, table)


def ones(n, dimension=3):
    return np.ones((n, dimension), np.float32)


def test_first_rows_follow_from_seed_name_and_id_alone():
    rows = table(seed=3).read(keys(5, FAR, 7))
    np.testing.assert_array_equal(rows[[2, 0]], table(seed=3).read(keys(7, 5)))
    others = [table(seed=4), TableGroup(["others"], 3, Sgd(), seed=3)]
    assert all((other.read(keys(5, FAR, 7)) != rows).any() for other in others)
    assert (np.diff(rows, axis=0) != 0).any()


def test_first_rows_are_uniform():
    rows = table(dimension=8, scale=0.5).read(RowKeys.of(np.arange(4000)))
    assert -0.5 <= rows.min() < -0.49 < 0.49 < rows.max() < 0.5
    assert abs(rows.mean()) < 0.01 and rows.std() == pytest.approx(1 / np.sqrt(12), rel=0.02)
    assert not table(scale=0).read(keys(1, 2)).any()


def test_reading_adds_no_rows_and_updating_does():
    words = table()
    words.read(keys(1, 2))
    assert len(words) == 0
    words.update(keys(2, FAR), ones(2), 0.5, 1)
    assert len(words) == 2
    np.testing.assert_array_equal(words.read(keys(1)), table().read(keys(1)))
    np.testing.assert_allclose(words.read(keys(FAR)), table().read(keys(FAR)) - 0.5, rtol=1e-6)


def test_the_order_of_ids_makes_no_difference(rng):
    one, two = table(Adam()), table(Adam())
    for t in range(1, 5):
        which = np.unique(rng.integers(0, FAR, 30))
        slopes, order = rng.normal(size=(len(which), 3)).astype(np.float32), rng.permutation(30)
        one.update(RowKeys.of(which), slopes, 0.1, t)
        two.update(RowKeys.of(which[order]), slopes[order], 0.1, t)
    every = RowKeys.of(np.sort(one.state()["words/ids"]))
    np.testing.assert_array_equal(one.read(every), two.read(every))


OPTIMIZERS = {
    "sgd": Sgd(learning_rate=0.1),
    "adagrad": AdaGrad(learning_rate=0.1, epsilon=1e-10),
    "adam": Adam(learning_rate=0.1),
}
BY_NUMPY = OPTIMIZERS | {"ftrl": Ftrl(learning_rate=0.1, l1=0.1)}


def by_numpy(name, row, slopes):
    """Returns one row after updates [(t, slope)] by the published formulas, in float64."""
    m = v = 0.0
    for t, g in slopes:
        if name == "ftrl":
            root, v = np.sqrt(v), v + g * g
            m = m + g - (np.sqrt(v) - root) / 0.1 * row
            row = -np.sign(m) * np.maximum(abs(m) - 0.1, 0) / ((1 + np.sqrt(v)) / 0.1)
            continue
        m, v = (m + 0, v + g * g) if name == "adagrad" else (0.9 * m + 0.1 * g, v)
        if name == "sgd":
            row = row - 0.1 * g
        elif name == "adagrad":
            row = row - 0.1 * g / (np.sqrt(v) + 1e-10)
        else:
            v = 0.999 * v + 0.001 * g * g
            row = row - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return row


def updates(rng, steps=6):
    """Yields (t, ids, gradients) of steps, each over a random subset of the ids."""
    for t in range(1, steps + 1):
        which = np.flatnonzero(rng.random(7) < 0.6)
        yield t, which, rng.normal(size=(len(which), 3)).astype(np.float32)


@pytest.mark.parametrize("name", BY_NUMPY)
def test_updates_are_those_by_numpy_of_the_rows_alone(name, rng):
    words, history = table(BY_NUMPY[name]), {i: [] for i in range(7)}
    for t, which, slopes in updates(rng):
        words.update(RowKeys.of(which), slopes, 0.1, t)
        for i, slope in zip(which, slopes.astype(float)):
            history[i].append((t, slope))
    first = table().read(RowKeys.of(np.arange(7))).astype(float)
    expected = [by_numpy(name, first[i], history[i]) for i in range(7)]
    np.testing.assert_allclose(words.read(RowKeys.of(np.arange(7))), expected, atol=2e-6)


@pytest.mark.parametrize("name", BY_NUMPY)
def test_rows_that_numpy_moves_in_parts_have_the_same_bits(name, rng, monkeypatch):
    def compiler():
        raise UnsupportedError("no compiler")

    which, slopes = RowKeys.of(np.arange(50)), rng.normal(size=(50, 3)).astype(np.float32)
    whole, parted = table(BY_NUMPY[name]), table(BY_NUMPY[name])
    for group in (whole, parted):
        for t in (1, 2):
            group.update(which, slopes, 0.1, t)
        monkeypatch.setattr(table_rows, "compiler", compiler)
        monkeypatch.setattr(table_group, "CHUNK", 7 * 3)
    for array, expected in zip(parted.state().values(), whole.state().values(), strict=True):
        np.testing.assert_array_equal(array, expected)


def test_rows_that_were_read_before_others_added_them_are_not_added_twice():
    words, alone, some = table(), table(), keys(3, 5)
    words.read(some)
    for group in (words, alone):
        group.update(keys(5, 3), ones(2), 0.1, 1)
        group.update(some, ones(2), 0.1, 2)
    assert len(words) == 2
    np.testing.assert_array_equal(words.read(some), alone.read(keys(3, 5)))


def test_places_are_forgotten_with_the_rows():
    words, some = table(), keys(3, 5)
    words.update(some, ones(2), 0.1, 1)
    words.clear()
    np.testing.assert_array_equal(words.read(some), table().read(some))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_updates_are_those_of_torch_with_sparse_gradients(name, rng):
    torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")
    words = table(OPTIMIZERS[name])
    bag = torch.nn.EmbeddingBag(7, 3, mode="sum", sparse=True)
    bag.weight.data = torch.from_numpy(words.read(RowKeys.of(np.arange(7))))
    kinds = {
        "sgd": torch.optim.SGD,
        "adagrad": torch.optim.Adagrad,
        "adam": torch.optim.SparseAdam,
    }
    optimizer = kinds[name](bag.parameters(), lr=0.1)
    for t, which, slopes in updates(rng):
        words.update(RowKeys.of(which), slopes, 0.1, t)
        with torch.sparse.check_sparse_tensor_invariants():
            optimizer.zero_grad()
            bag(torch.from_numpy(which)[:, None]).backward(torch.from_numpy(slopes))
            optimizer.step()
    theirs = bag.weight.detach().numpy()
    np.testing.assert_allclose(words.read(RowKeys.of(np.arange(7))), theirs, atol=2e-6)


def test_weight_decay_is_of_the_rows_of_the_update():
    words = table(Sgd(weight_decay=0.1))
    words.update(keys(1), 0 * ones(1), 0.5, 1)
    np.testing.assert_allclose(words.read(keys(1)), 0.95 * table().read(keys(1)), rtol=1e-6)


def test_state_and_load_give_the_same_table(rng):
    one, two = table(Momentum()), table(Momentum())
    one.update(keys(9, 4, FAR), ones(3), 0.1, 1)
    two.load(one.state())
    for words in (one, two):
        words.update(keys(4, 8), ones(2), 0.1, 2)
    assert all((one.state()[name] == two.state()[name]).all() for name in one.state())
    two.load({})
    assert len(two) == 0


@pytest.mark.slow
def test_memory_is_within_a_tenth_of_what_the_rows_hold():
    words, sizes = table(AdaGrad(), dimension=16), []
    for start in range(0, 300_000, 10_000):
        words.update(RowKeys.of(np.arange(start, start + 10_000)), ones(10_000, 16), 0.1, 1)
        sizes.append(words.nbytes / (len(words) * (8 + 2 * 16 * 4)))
    assert max(sizes[5:]) < 1.1


def broken(**changes):
    words = table()
    words.update(keys(1, 2), ones(2), 0.1, 1)
    return words.state() | {f"words/{name}": array for name, array in changes.items()}


ERRORS = {
    "width": (
        lambda: table().update(keys(1), ones(1, 4), 0.1, 1),
        ShapeError,
        r"tables \('words',\) need gradients \(1, 3\), got \(1, 4\)",
    ),
    "nan": (
        lambda: table().update(keys(5, 6), ones(2) * [[1], [np.nan]], 0.1, 1),
        DivergedError,
        "gradient of id 6 is not finite",
    ),
    "norms": (lambda: table(Lamb()), ConfigError, "must compute number by number, got Lamb"),
    "names": (lambda: table(Adam()).load(broken()), ShapeError, "needs the arrays .*'mean'"),
    "length": (
        lambda: table().load(broken(rows=np.zeros(5, np.float32))),
        ShapeError,
        r"rows of float32 \(6,\), got float32 \(5,\)",
    ),
    "type": (
        lambda: table().load(broken(ids=np.zeros(2, np.int32))),
        ShapeError,
        "ids of int64",
    ),
    "twice": (lambda: table().load(broken(ids=np.array([3, 3]))), ShapeError, "each once"),
    "negative": (lambda: table().load(broken(ids=np.array([-3, 3]))), ShapeError, "at least 0"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_the_table(name):
    do, kind, text = ERRORS[name]
    with pytest.raises(kind, match=text):
        do()


def test_a_refused_update_changes_nothing():
    words = table()
    words.update(keys(1), ones(1), 0.1, 1)
    before = words.state()
    with pytest.raises(DivergedError):
        words.update(keys(1, 2), ones(2) * np.inf, 0.1, 2)
    assert all((before[name] == words.state()[name]).all() for name in before)
    assert len(words) == 1


def test_tables_of_a_group_are_those_of_groups_of_one(rng):
    names = ["a", "b", "c"]
    together = TableGroup(names, 3, Adam(), seed=2)
    alone = [TableGroup([name], 3, Adam(), seed=2) for name in names]
    for t in range(1, 6):
        which = [np.unique(rng.integers(0, 60, 20)) for _ in names]
        slopes = [rng.normal(size=(len(w), 3)).astype(np.float32) for w in which]
        mixed = RowKeys.of(np.concatenate(which))
        mixed.tables[:] = np.arange(3).repeat([len(w) for w in which])
        order = rng.permutation(len(mixed.ids))
        together.update(mixed.take(order), np.concatenate(slopes)[order], 0.1, t)
        for group, own, slope in zip(alone, which, slopes):
            group.update(RowKeys.of(own), slope, 0.1, t)
    every = np.arange(60)
    for number, group in enumerate(alone):
        rows = together.read(RowKeys.of(every, number))
        np.testing.assert_array_equal(rows, group.read(RowKeys.of(every)))
    assert len(together) == sum(map(len, alone))
    again = TableGroup(names, 3, Adam(), seed=2)
    again.load({name: array for group in alone for name, array in group.state().items()})
    state = together.state()
    assert again.state().keys() == state.keys() and len(state) == 3 * 4
    for number in range(3):
        one, two = (group.read(RowKeys.of(every, number)) for group in (again, together))
        np.testing.assert_array_equal(one, two)


def test_a_group_without_rows_has_empty_arrays():
    state = TableGroup(["a", "b"], 3, Sgd()).state()
    assert {name: array.shape for name, array in state.items()} == {
        "a/ids": (0,),
        "a/rows": (0,),
        "b/ids": (0,),
        "b/rows": (0,),
    }


def test_too_many_tables_are_refused():
    with pytest.raises(ConfigError, match=f"at most {MOST_TABLES} tables of 3 numbers a row"):
        TableGroup(["t"] * (MOST_TABLES + 1), 3, Sgd())
