"""Wide and deep learning, for records of ids and numbers."""

from collections.abc import Sequence
from typing import Any

from sparkdl.errors import ConfigError
from sparkdl.nn.layers import Dense, Merge
from sparkdl.nn.networks.graph import GraphConf
from sparkdl.nn.optimizers import Optimizer
from sparkdl.nn.zoo.arguments import check_arguments
from sparkdl.nn.zoo.fields import NUMBERS, ScoreBuilder


@check_arguments(fields=0)
def wide_deep(
    fields: Sequence[str] = ("user", "item"),
    numbers: int = 0,
    crosses: Sequence[str] = (),
    dimension: int = 32,
    units: Sequence[int] = (1024, 512, 256),
    wide_optimizer: Optimizer | str | None = None,
    task: str = "classification",
    **options: Any,
) -> GraphConf:
    """Builds a wide and deep network: a linear model of ids, and a perceptron of their vectors.

    Parameters
    ----------
    fields : sequence of str
        Columns of ids, one for each record.
    numbers : int
        Width of a column "numbers", which both parts read; 0: there is none.
    crosses : sequence of str
        Columns with ids of combinations of fields, which only the linear model reads.
    dimension : int
        Size of the vectors of ids.
    units : sequence of int
        Widths of the perceptron's hidden layers.
    wide_optimizer : Optimizer, optional
        Optimizer of the linear model's id weights. None: the network's.
    task : str
        "classification": the label is 1 or 0. "regression": it is a number.
    options : of GraphConf

    References
    ----------
    Cheng et al., Wide and deep learning for recommender systems (2016), figure 4.
    """
    if not fields and not numbers:
        raise ConfigError("wide_deep.fields must have a name where numbers is 0, got none")
    build = ScoreBuilder(numbers, task)
    vectors = build.vectors(fields, dimension)
    parts = [*vectors, *([NUMBERS] if numbers else [])]
    given = build.add(Merge(), *parts, name="all") if len(parts) > 1 else parts[0]
    deep = build.add(Dense(units=1), build.hidden(units, given, "deep"), name="deep score")
    wide = build.linear([*fields, *crosses], optimizer=wide_optimizer)
    return build.score([deep, *wide], options)
