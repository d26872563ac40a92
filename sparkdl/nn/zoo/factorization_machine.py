"""Factorization machines, for records of ids."""

from collections.abc import Sequence
from typing import Any

from sparkdl.nn.layers import Dense, DotInteraction, Merge
from sparkdl.nn.networks.graph import GraphConf
from sparkdl.nn.zoo.arguments import check_arguments
from sparkdl.nn.zoo.fields import NUMBERS, ScoreBuilder


@check_arguments(fields=2)
def factorization_machine(
    fields: Sequence[str] = ("user", "item"),
    numbers: int = 0,
    dimension: int = 8,
    task: str = "classification",
    **options: Any,
) -> GraphConf:
    """Builds a factorization machine of order 2: a weight and a vector for each id.

    The score is a bias, the weights, and the dot products of the vectors, two by two. With the
    fields "user" and "item" that is matrix factorization with biases.

    Parameters
    ----------
    fields : sequence of str
        Columns of ids, one for each record; at least two.
    numbers : int
        Width of a column "numbers", which the score is linear in; 0: there is none.
    dimension : int
        Size of the vectors.
    task : str
        "classification": the label is 1 or 0. "regression": it is a number.
    options : of GraphConf

    References
    ----------
    Rendle, Factorization machines (2010), equation 1.
    """
    build = ScoreBuilder(numbers, task)
    vectors = build.vectors(fields, dimension)
    pairs = build.add(DotInteraction(combine="sum"), *vectors, name="interaction")
    return build.score([pairs, *build.linear(fields)], options)


@check_arguments(fields=2)
def deep_fm(
    fields: Sequence[str] = ("user", "item"),
    numbers: int = 0,
    dimension: int = 8,
    units: Sequence[int] = (400, 400, 400),
    task: str = "classification",
    **options: Any,
) -> GraphConf:
    """Builds DeepFM: a factorization machine and a perceptron that share the vectors of the ids.

    Parameters
    ----------
    fields, numbers, dimension, task
        As in `factorization_machine`; the perceptron reads the numbers, too.
    units : sequence of int
        Widths of the perceptron's hidden layers.
    options : of GraphConf

    References
    ----------
    Guo et al., DeepFM: a factorization-machine based neural network for CTR prediction (2017); its
    section 3.1 for three layers of 400.
    """
    build = ScoreBuilder(numbers, task)
    vectors = build.vectors(fields, dimension)
    pairs = build.add(DotInteraction(combine="sum"), *vectors, name="interaction")
    given = build.add(Merge(), *vectors, *([NUMBERS] if numbers else []), name="all")
    deep = build.add(Dense(units=1), build.hidden(units, given, "deep"), name="deep score")
    return build.score([pairs, deep, *build.linear(fields)], options)
