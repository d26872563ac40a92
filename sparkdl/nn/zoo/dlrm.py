"""The deep learning recommendation model (DLRM), for records of ids and numbers."""

from collections.abc import Sequence
from typing import Any

from sparkdl.nn.layers import Dense, DotInteraction, Merge
from sparkdl.nn.networks.graph import GraphConf
from sparkdl.nn.zoo.arguments import check_arguments
from sparkdl.nn.zoo.fields import NUMBERS, ScoreBuilder

FIELDS = tuple(f"c{i}" for i in range(1, 27))  # of Criteo's data sets, with 13 numbers


@check_arguments(numbers=1)
def dlrm(
    fields: Sequence[str] = FIELDS,
    numbers: int = 13,
    dimension: int = 16,
    bottom: Sequence[int] = (512, 256, 64),
    top: Sequence[int] = (512, 256),
    task: str = "classification",
    **options: Any,
) -> GraphConf:
    """Builds DLRM: the numbers become a vector, and a perceptron reads it and all dot products.

    Parameters
    ----------
    fields : sequence of str
        Columns of ids, one for each record.
    numbers : int
        Width of the column "numbers"; at least 1.
    dimension : int
        Size of the vectors of ids, and of the vector of the numbers.
    bottom, top : sequence of int
        Hidden layers of the perceptron of the numbers, which ends with `dimension`, and of that of
        the products, which ends with the score.
    task : str
        "classification": the label is 1 or 0. "regression": it is a number.
    options : of GraphConf

    References
    ----------
    Naumov et al., Deep learning recommendation model for personalization and recommendation
    systems (2019); its code for the sizes of the Criteo Kaggle benchmark.
    """
    build = ScoreBuilder(numbers, task)
    vectors = build.vectors(fields, dimension)
    dense = build.hidden((*bottom, dimension), NUMBERS, "bottom")
    pairs = build.add(DotInteraction(), dense, *vectors, name="interaction")
    given = build.add(Merge(), dense, pairs, name="all")
    return build.score(
        [build.add(Dense(units=1, bias=False), build.hidden(top, given, "top"), name="top score")],
        options,
    )
