"""Counts of an evaluation as arrays, which can be sent and restored."""

import numpy as np
import pytest

from sparkdl.errors import DataError
from sparkdl.training.evaluation import Classification, MeanLoss, MultiLabelEvaluation, Regression
from sparkdl.training.evaluation.count_arrays import counts_of, with_counts


def some(kind, rng):
    if kind is Classification:
        predictions = rng.dirichlet(np.ones(4), 30)
        return Classification(4), (predictions, rng.integers(0, 4, 30), rng.random(30))
    if kind is MultiLabelEvaluation:
        return MultiLabelEvaluation(3), (
            rng.random((30, 3)),
            rng.integers(0, 2, (30, 3)),
            rng.random(30),
        )
    if kind is Regression:
        return Regression(3), (rng.normal(size=(30, 3)), rng.normal(size=(30, 3)), rng.random(30))
    return MeanLoss(), (rng.normal(size=(30, 3)), rng.normal(size=(30, 3)), rng.random(30))


@pytest.mark.parametrize("kind", [Classification, MultiLabelEvaluation, Regression, MeanLoss])
def test_counts_make_the_evaluation_again(kind, rng):
    evaluation, batch = some(kind, rng)
    evaluation.add(*batch)
    arrays = [array.copy() for array in counts_of(evaluation)]
    again = with_counts(some(kind, rng)[0], arrays)
    assert again.figures() == evaluation.figures() and again.examples == 30
    assert all(map(np.array_equal, counts_of(again), arrays))
    both = again.merge(evaluation)
    assert both.examples == 60 and type(both.examples) is type(evaluation.examples)


def test_counts_of_something_else_are_refused(rng):
    with pytest.raises(DataError, match="Classification.* counts arrays of"):
        with_counts(Classification(4), counts_of(Classification(5)))
    with pytest.raises(DataError, match="counts arrays of"):
        with_counts(Classification(4), [])
    for damage in (lambda x: x[:-1], lambda x: [*x, x[0]], lambda x: [*x[:-1], x[-1][:-1]]):
        arrays = counts_of(some(Classification, rng)[0].add(*some(Classification, rng)[1]))
        with pytest.raises(DataError, match="counts arrays of"):
            with_counts(Classification(4), damage(arrays))
