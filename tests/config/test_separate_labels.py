"""Features and labels as two separate arrays are rejected, with advice on how to pass both."""

import numpy as np
import pandas as pd
import pytest

from sparkdl import Network, SparkNetwork
from sparkdl.errors import ConfigError
from tests.training.problems import perceptron

X, Y = np.zeros((4, 2), np.float32), np.zeros(4, int)
PAIR, ONLY = (
    "features and labels together; give them as one pair: ",
    "or a source, got numpy.ndarray; ",
)
REFUSED = {
    "fit": (Network, "fit", (X, Y), {"epochs": 1}, f"{PAIR}fit((x, y), epochs=1)"),
    "fit of lists": (Network, "fit", ([[1.0]], [0]), {}, f"{PAIR}fit((x, y), epochs=1)"),
    "fit of tables": (Network, "fit", (pd.DataFrame(X), pd.Series(Y)), {}, f"{PAIR}fit((x, y)"),
    "fit of one": (Network, "fit", (X,), {}, f"{ONLY}give them as one pair: fit((x, y), epochs=1)"),
    "fit of one, epochs": (Network, "fit", (X, np.int64(3)), {}, f"{ONLY}give them as one pair"),
    "pretrain": (Network, "pretrain", (X, ["code"]), {}, f"{ONLY}give them as one pair: pretrain"),
    "evaluate": (Network, "evaluate", (X, Y), {}, f"{PAIR}evaluate((x, y))"),
    "score": (Network, "score", (X, Y), {}, f"{PAIR}score((x, y))"),
    "on Spark": (
        SparkNetwork,
        "fit",
        (X, Y),
        {"epochs": 1},
        "give an RDD or a DataFrame, or both as a source: fit(Arrays(x, y), epochs=1)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_arrays_that_are_no_pair_are_refused(case):
    kind, call, values, options, message = REFUSED[case]
    with pytest.raises(ConfigError) as caught:
        getattr(kind, call)(object.__new__(kind), *values, **options)
    assert message in str(caught.value)


def test_what_was_refused_with_a_cure_of_its_own_still_is():
    with pytest.raises(ConfigError, match="give its columns as arrays"):
        Network(perceptron()).evaluate(pd.DataFrame(X))
