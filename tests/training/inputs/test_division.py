"""Held-out records and class weights: how they are chosen, and their effect on a fit."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.data.readers.ndarray.arrays import Arrays
from sparkdl.errors import ConfigError, NoRecords
from sparkdl.nn import Adam, Dense, GraphConf, Output, Vertex
from sparkdl.training.fit.network_fit import validation_of
from sparkdl.training.inputs.division import divide
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from tests.training.models import assert_equal
from tests.training.problems import perceptron

MASTER = ParameterAveraging(aggregation="driver", batch_size_per_worker=8)
CONF = perceptron(optimizer=Adam(learning_rate=0.01))
RNG = np.random.default_rng(4)
X = RNG.normal(size=(400, 4)).astype(np.float32)
Y = np.r_[np.zeros(200), np.ones(150), np.full(50, 2)].astype(int)[RNG.permutation(400)]


def ids_of(conf, master, share, source):
    """Returns (ids to train on, held-out ids)."""
    division = divide(conf, master, None, share, None)
    both = [division.training, division.held_out]
    parts = [validation_of(conf, source, changes).batches for changes in both]
    return [sorted(n for batch in part for n in batch.ids.tolist()) for part in parts]


def test_records_are_held_out_by_what_they_hold(crews):
    kept, held_out = ids_of(CONF, MASTER, 0.25, Arrays(X, Y))
    assert len(kept) + len(held_out) == 400 and 70 < len(held_out) < 130
    assert not {*kept} & {*held_out}
    assert ids_of(CONF, replace(MASTER, seed=9), 0.25, Arrays(X, Y))[1] != held_out
    assert {*ids_of(CONF, MASTER, 0.1, Arrays(X, Y))[1]} < {*held_out}


def test_the_same_records_are_held_out_in_any_order_and_equal_ones_together(crews):
    order = np.random.default_rng(1).permutation(400)
    found = rows_of(ids_of(CONF, MASTER, 0.25, Arrays(X[order], Y[order]))[1])
    assert sorted(order[found]) == rows_of(ids_of(CONF, MASTER, 0.25, Arrays(X, Y))[1])
    twice = Arrays(np.concatenate([X, X]), np.concatenate([Y, Y]))
    found = np.array(rows_of(ids_of(CONF, MASTER, 0.25, twice)[1]))
    assert (found[found < 400] == found[found >= 400] - 400).all()


def test_the_same_numbers_are_held_out_whatever_their_type(crews):
    x = np.random.default_rng(2).integers(0, 256, (400, 4))
    alike = {kind: x.astype(kind) for kind in (np.uint8, np.int64, np.float32, np.float64)}
    found = [ids_of(CONF, MASTER, 0.25, Arrays(x, Y)) for x in alike.values()]
    assert all(one == found[0] for one in found[1:])
    signs = np.where(x < 128, 0.0, x), np.where(x < 128, -0.0, x)  # sparse vectors have no -0.0
    one, other = [ids_of(CONF, MASTER, 0.25, Arrays(x, Y)) for x in signs]
    assert one == other


def rows_of(ids):
    """Returns the rows of records in the arrays; a split has 256 rows."""
    return sorted(256 * (n >> 40) + (n & (1 << 40) - 1) for n in ids)


def test_a_fit_trains_on_some_and_evaluates_the_others(crews):
    kept, held_out = ids_of(CONF, MASTER, 0.25, Arrays(X, Y))
    network = Network(CONF)
    [epoch] = network.fit((X, Y), 1, MASTER, crews(2), validation_split=0.25).epochs
    assert epoch.examples == len(kept) and epoch.validation.examples == len(held_out)
    rows = rows_of(held_out)
    assert epoch.validation.loss == pytest.approx(network.score((X[rows], Y[rows])), rel=1e-6)


def test_what_is_held_out_is_weighted_as_training_is(crews):
    w = np.linspace(0.5, 2, 400, dtype=np.float32)
    network, data = Network(CONF), Arrays({"features": X, "weights": w}, Y)
    [epoch] = network.fit(data, 1, MASTER, crews(2), validation_split=0.25).epochs
    rows = rows_of(ids_of(CONF, MASTER, 0.25, data)[1])
    p = network.predict(X[rows])
    expected = -np.log(p[np.arange(len(rows)), Y[rows]]) * w[rows]
    assert epoch.validation.loss == pytest.approx(expected.mean(), rel=1e-5)


def test_nothing_may_be_left_to_train_on(crews):
    with pytest.raises(NoRecords, match="there are no records to train on"):
        Network(CONF).fit((X[:1], Y[:1]), 1, MASTER, crews(2), validation_split=1 - 1e-9)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_weights_of_classes_are_those_of_their_records(crews, weighted):
    given = {"weights": np.linspace(0.5, 2, 400, dtype=np.float32)} if weighted else {}
    factors, by_class = np.array([0.5, 1, 3], np.float32)[Y], Network(CONF)
    by_class.fit(
        Arrays({"features": X} | given, Y), 2, MASTER, crews(2), class_weight={0: 0.5, 2: 3}
    )
    by_record = Network(CONF)
    columns = {"features": X, "weights": factors * given.get("weights", np.float32(1))}
    by_record.fit(Arrays(columns, Y), 2, MASTER, crews(2))
    assert_equal(by_class.state, by_record.state)


@pytest.mark.slow
def test_weights_of_a_yes_or_no_are_those_of_its_two_classes(crews):
    conf = perceptron(layers=[Dense(units=3), Output(units=1, loss="sigmoid_cross_entropy")])
    yes = (Y > 0).astype(np.float32)
    by_class, by_record = Network(conf), Network(conf)
    by_class.fit((X, yes), 2, MASTER, crews(2), class_weight={0: 0.5, 1: 3})
    weights = np.array([0.5, 3], np.float32)[yes.astype(int)]
    by_record.fit(Arrays({"features": X, "weights": weights}, yes), 2, MASTER, crews(2))
    assert_equal(by_class.state, by_record.state)
    with pytest.raises(ConfigError, match=r"classes in \[0, 2\), got \{2: 1\}"):
        divide(conf, MASTER, None, None, {2: 1})


KEYS = {  # numpy types, as numpy and scikit-learn return classes and factors
    "int64": (np.int64, np.float64),
    "uint8": (np.uint8, np.float32),
    "float32": (np.float32, np.int64),
}


@pytest.mark.parametrize("name", KEYS)
def test_classes_and_factors_may_be_numbers_of_numpy(name):
    kinds = KEYS[name]
    given = {kinds[0](one): kinds[1](factor) for one, factor in ((0, 2), (2, 3))}
    [change] = divide(CONF, MASTER, None, None, given).training
    assert change.factors == (2.0, 1.0, 3.0) and {type(one) for one in change.factors} == {float}


REGRESSION = perceptron(layers=[Dense(units=3), Output(units=3, loss="mse")])
NO_LABELS = GraphConf(
    inputs={"x": (2,)}, vertices=[Vertex(name="d", layer=Dense(units=2), inputs="x")]
)
SEVERAL = GraphConf(
    inputs={"x": (2,)},
    vertices=[
        Vertex(name="size", layer=Output(units=1, loss="mse"), inputs="x"),
        Vertex(name="kind", layer=Output(units=3), inputs="x"),
    ],
)
REFUSED = {
    "a share of 1": (CONF, {"share": 1.0}, r"validation_split must be a number in \(0, 1\), got 1"),
    "a share in percent": (CONF, {"share": 10}, "validation_split must be a number in"),
    "two validations": (CONF, {"share": 0.1, "validation": 3}, "validation_split must be left out"),
    "no dict": (CONF, {"class_weight": [1, 2]}, r"class_weight must be \{class: factor\}"),
    "no class": (CONF, {"class_weight": {3: 1}}, r"classes in \[0, 3\), got \{3: 1\}"),
    "half a class": (CONF, {"class_weight": {0.5: 1}}, r"classes in \[0, 3\), got \{0.5: 1\}"),
    "a truth": (CONF, {"class_weight": {True: 1}}, r"classes in \[0, 3\), got \{True: 1\}"),
    "nan": (CONF, {"class_weight": {np.nan: 1}}, r"classes in \[0, 3\), got \{nan: 1\}"),
    "no labels": (NO_LABELS, {"class_weight": {0: 1}}, "class_weight must be left out where"),
    "two outputs": (
        SEVERAL,
        {"class_weight": {0: 1}},
        r"where .*, as a column: weights=\{\"kind\": \"w\"\}, by .* \['size', 'kind'\]$",
    ),
    "a negative factor": (
        CONF,
        {"class_weight": {1: -1}},
        r"class_weight\[1\] must be a number >=",
    ),
    "beyond float32": (CONF, {"class_weight": {1: 1e39}}, "a number >= 0 within float32, got 1e"),
    "beyond floats": (CONF, {"class_weight": {1: 10**400}}, "a number >= 0 within float32, got"),
    "values": (
        REGRESSION,
        {"class_weight": {0: 2}},
        r"must be left out .*, as a column: weights=\"w\"$",
    ),
}


@pytest.mark.parametrize("conf, options, text", REFUSED.values(), ids=list(REFUSED))
def test_options_that_cannot_be_are_refused(conf, options, text):
    nothing = {"validation": None, "share": None, "class_weight": None}
    with pytest.raises(ConfigError, match=text):
        divide(conf, MASTER, **nothing | options)
