"""SparkNetwork accepts a Recipe of any kind and follows it."""

import numpy as np
import pytest

from sparkdl.spark import SparkNetwork
from sparkdl.training.evaluation.batch_evaluation import Evaluator
from sparkdl.training.fit.network_fit import fit_network
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.recipe import TEST, Recipe
from sparkdl.training.workers.base import Validation
from tests.spark.networks import CLASSES, plain

MASTER = ParameterAveraging(aggregation="driver", workers=2, batch_size_per_worker=4)


class Sorted(Evaluator):
    """Requires each record to say which test it belongs to."""

    def evaluate(self, replica, blocks):
        blocks = list(blocks)
        assert {int(n) for block in blocks for n in block.columns[TEST]} <= {0, 1}
        return super().evaluate(replica, blocks)


class Plain:
    """A recipe: two epochs on one set of records, tested on two sets."""

    def __init__(self, records, tests):
        self.network, self.master = Network(plain()), MASTER
        self.records, self.held, self.test_confs = records, tests, [self.network.conf] * 2

    def data(self):
        return self.records

    def tests(self, given, readable):
        return [readable(one) for one in (self.held if given is None else given)]

    def validation(self, tests, batches):
        return Validation(batches, Sorted(self.network.conf))

    def train(self, data, workers, validation, evaluate=None, *, listeners=(), **options):
        options = {"validation": validation, "evaluate": evaluate, "validate_every": 3}
        return fit_network(self.network, data, self.master, workers, 2, **options)


@pytest.fixture
def rows(sc):
    rng, conf = np.random.default_rng(3), plain()
    xs = rng.normal(size=(24, *conf.input_shape)).astype(np.float32)
    return sc.parallelize([(x, i % CLASSES) for i, x in enumerate(xs)], 2)


def test_a_recipe_is_trained_and_tested_as_it_says(sc, rows):
    recipe = Plain(rows, [rows, rows])
    assert isinstance(recipe, Recipe)
    assert not isinstance(plain(), Recipe) and not isinstance(recipe.network, Recipe)
    history = SparkNetwork(sc, recipe).fit()
    assert {one.validation.examples for one in history.validations} == {48}
    alone = SparkNetwork(sc, plain(), MASTER)
    alone.fit(rows, epochs=2)
    np.testing.assert_array_equal(recipe.network.state.params, alone.network.state.params)
