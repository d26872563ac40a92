"""Validation records of a recipe's tests."""

from functools import partial

from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.recipe import tag_batch
from sparkdl.training.workers.contribution import Failure


def recipe_validation(sc, recipe, validation, readable):
    """Returns the Validation of a recipe's tests, or None without any; see Recipe.tests."""
    tests = recipe.tests(validation, readable)
    return recipe.validation(tests, batches_of_tests(sc, recipe.test_confs, tests))


def batches_of_tests(sc, confs, tests):
    """Returns an RDD of all tests' Batches, tagged with their test's number, and Failures.

    Parameters
    ----------
    confs : sequence of NetworkConf or GraphConf
        See Recipe.test_confs.
    tests : sequence of SparkRecords
        One per conf; or none at all.
    """
    rdds = []
    for number, records in enumerate(tests):
        schema = schema_of(confs[number], transform=records.transform)
        rdds.append(records.batches(sc, schema).map(partial(tag_item, number)))
    return sc.union(rdds) if rdds else None


def tag_item(number, item):
    return item if isinstance(item, Failure) else tag_batch(item, number)
