"""The zoo's networks with embedding tables: their formulas in numpy, and data they can learn."""

from itertools import pairwise

import numpy as np
import pytest

from sparkdl import AdaGrad, AllReduceSGD, LocalWorkers, Network, zoo
from sparkdl.data import Batch
from sparkdl.errors import ConfigError
from sparkdl.nn.networks.document import conf_from_dict
from sparkdl.nn.tables.row_keys import RowKeys
from tests.support.zoo_networks import OF_IDS

FIELDS, MASTER = ("a", "b", "c"), AllReduceSGD(batch_size_per_worker=32)
SMALL = {
    "factorization_machine": {"dimension": 3},
    "deep_fm": {"dimension": 3, "units": (4, 2)},
    "wide_deep": {"dimension": 3, "units": (4, 2), "crosses": ("ab",)},
    "dlrm": {"dimension": 6, "bottom": (4,), "top": (16, 8)},
}


def records(n, rng):
    ids = {name: rng.integers(0, 9, (n, 1)) for name in FIELDS}
    ids["ab"] = ids["a"] * 9 + ids["b"]
    return ids | {"numbers": rng.random((n, 2), np.float32)}


def relu(x):
    return np.maximum(x, 0)


class Formula:
    """Computes the parts of the scores from a network's tables and parameters alone."""

    def __init__(self, network, columns):
        self.columns, self.groups = columns, network.replica.groups
        self.params = network.conf.params_layout.views(network.state.params)

    def rows(self, table, column):
        [group] = [group for group in self.groups if table in group.names]
        return group.read(RowKeys.of(self.columns[column][:, 0], group.names.index(table)))

    def dense(self, x, *names):
        for name in names:
            x = relu(x @ self.params[f"{name}/W"] + self.params[f"{name}/b"])
        return x

    def last(self, x, name):
        return x @ self.params[f"{name}/W"] + self.params.get(f"{name}/b", 0)

    def linear(self, fields):
        ids = sum(self.rows(f"{name}/weight", name) for name in fields)
        return ids + self.last(self.columns["numbers"], "weights of numbers")

    def vectors(self):
        return [self.rows(name, name) for name in FIELDS]

    def deep(self):
        x = np.concatenate([*self.vectors(), self.columns["numbers"]], 1)
        return self.last(self.dense(x, "deep_1", "deep_2"), "deep score")

    def pairs(self, vectors):
        found = [(a * b).sum(1) for i, a in enumerate(vectors) for b in vectors[:i]]
        return np.stack(found, 1)

    def factorization_machine(self):
        return self.linear(FIELDS) + self.pairs(self.vectors()).sum(1, keepdims=True)

    def deep_fm(self):
        return self.factorization_machine() + self.deep()

    def wide_deep(self):
        return self.linear([*FIELDS, "ab"]) + self.deep()

    def dlrm(self):
        dense = self.dense(self.columns["numbers"], "bottom_1", "bottom_2")
        x = np.concatenate([dense, self.pairs([dense, *self.vectors()])], 1)
        return self.last(self.dense(x, "top_1", "top_2"), "top score")


def conf_of(name, **options):
    return getattr(zoo, name)(fields=FIELDS, numbers=2, seed=3, **SMALL[name] | options)


def trained(name, rng, **options):
    """Returns (network, batch, columns); labels are the parity of two ids."""
    conf = conf_of(name, optimizer=AdaGrad(learning_rate=0.2), **options)
    columns = records(64, rng)
    labels = (columns["a"] + columns["b"])[:, 0] % 2
    network = Network(conf)
    used = {key: columns[key] for key in (*FIELDS, "ab", "numbers") if key in reads(conf)}
    batch = Batch(columns=used | {"labels": labels}, ids=np.arange(64, dtype=np.uint64))
    return network, batch, used


def reads(conf):
    return set(conf.record_shapes)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_the_score_is_that_of_the_paper(name):
    rng = np.random.default_rng(0)
    network, batch, columns = trained(name, rng, task="regression")
    network.fit(batch, 2, MASTER, LocalWorkers(1))
    found = network.predict(columns)
    bias = network.conf.params_layout.views(network.state.params)["bias/beta"]
    expected = getattr(Formula(network, columns), name)() + bias
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_a_parity_of_ids_is_learned(name):
    """No linear model can: the label depends on the combination of two ids."""
    network, batch, columns = trained(name, np.random.default_rng(1))
    network.fit(batch, 150, MASTER, LocalWorkers(1))
    right = (network.predict(columns)[:, 0] > 0.5) == batch.columns["labels"]
    assert right.mean() > 0.95


def test_these_are_the_networks_with_tables():
    assert {*SMALL} == OF_IDS == {name for name in OF_IDS if getattr(zoo, name)().bags}


@pytest.mark.parametrize("name", SMALL)
def test_it_comes_back_from_its_document(name):
    conf = getattr(zoo, name)()
    assert conf_from_dict(conf.to_dict()) == conf


def dense(*widths):
    return sum((before + 1) * after for before, after in pairwise(widths))


def test_parameters_outside_the_tables_by_hand():
    pairs = 27 * 26 // 2
    top = dense(16 + pairs, 512, 256, 1)
    assert zoo.dlrm().parameter_count == dense(13, 512, 256, 64, 16) + top
    assert zoo.deep_fm().parameter_count == dense(2 * 8, 400, 400, 400, 1) + 1
    assert zoo.wide_deep().parameter_count == dense(2 * 32, 1024, 512, 256, 1) + 1


def test_there_may_be_no_numbers():
    conf = zoo.factorization_machine(fields=("user", "item"))
    assert reads(conf) == {"user", "item"} and conf.parameter_count == 1  # the bias


def test_another_task_is_refused():
    with pytest.raises(ConfigError, match=r"task must be one of .*, got 'ranking'"):
        zoo.dlrm(task="ranking")
