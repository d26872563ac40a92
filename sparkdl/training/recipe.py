"""A training described by something other than the caller, such as a file of another system."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

TEST = "number of the test"  # the column that says which test a record is for


@runtime_checkable
class Recipe(Protocol):
    """A training in any format: the network, the data, the method, and the tests on the way.

    Whoever follows it, on this machine or a cluster, reads the data in its own way:

    >>> tests = recipe.tests(None, readable)
    >>> batches = ...  # all tests' records as Batches of `test_confs`, each through `tag_batch`
    >>> validation = recipe.validation(tests, batches)
    >>> history = recipe.train(readable(recipe.data()), workers, validation)

    Attributes
    ----------
    network : Network
        What is trained, with the weights that it starts from.
    master : TrainingMaster
        How it is trained.
    test_confs : sequence of NetworkConf or GraphConf
        Of each test, what its records must fit.
    """

    network: Any
    master: Any
    test_confs: Any

    def data(self):
        """Returns the source of the data to train on; ConfigError where none is named."""

    def tests(self, given, readable):
        """Returns the data of each test, or none where nothing is tested.

        Parameters
        ----------
        given : data, or a list of it for several tests; None: what the recipe names
        readable : function data -> what the workers read; has a `transform`
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
        """Trains the network, as long and at the rates that the recipe says; returns a History.

        The options are those of `fit_network`; what is not None comes before the recipe's.
        """


def tag_batch(batch, number):
    """Returns the batch, tagged with the number of its test."""
    return batch.replace(**{TEST: np.full(len(batch), number, np.int32)})
