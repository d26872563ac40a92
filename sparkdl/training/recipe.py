"""Protocol of trainings described elsewhere, such as in a file of another system."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

TEST = "number of the test"  # column with the number of a record's test


@runtime_checkable
class Recipe(Protocol):
    """A training in any format: the network, the data, the method, and the tests on the way.

    A runner, on this machine or a cluster, reads the data in its own way:

    >>> tests = recipe.tests(None, readable)
    >>> batches = ...  # all tests' records as Batches of `test_confs`, each through `tag_batch`
    >>> validation = recipe.validation(tests, batches)
    >>> history = recipe.train(readable(recipe.data()), workers, validation)

    Attributes
    ----------
    network : Network
        The network to train, with its initial weights.
    master : TrainingMaster
        How to train it.
    test_confs : sequence of NetworkConf or GraphConf
        For each test, the network that its records must fit.
    """

    network: Any
    master: Any
    test_confs: Any

    def data(self):
        """Returns the source of the training data; raises ConfigError if none is named."""

    def tests(self, given, readable):
        """Returns the data of each test, or none if nothing is tested.

        Parameters
        ----------
        given : data, or a list of data for several tests; None: as the recipe names it
        readable : function of data that returns what the workers read; it has a `transform`
        """

    def validation(self, tests, batches):
        """Returns the Validation of these tests, or None without any.

        `batches` are all their records.
        """

    def train(
        self,
        data,
        workers,
        validation,
        evaluate=None,
        *,
        epochs=None,
        updates=None,
        validate_every=None,
        validate_first=None,
        listeners=(),
        checkpoints=None,
        resume=None,
    ):
        """Trains the network for as long and at the rates that the recipe says; returns a History.

        The options are those of `fit_network`; any that is not None overrides the recipe's.
        """


def tag_batch(batch, number):
    """Returns the batch, tagged with the number of its test."""
    return batch.replace(**{TEST: np.full(len(batch), number, np.int32)})
