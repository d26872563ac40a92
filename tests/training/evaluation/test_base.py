"""The contract of `merge` for every evaluation. A new kind is one more row."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkdl.errors import ConfigError
from sparkdl.training.evaluation import (
    Classification,
    Evaluation,
    MeanLoss,
    MultiLabelEvaluation,
    Regression,
)
from sparkdl.training.evaluation.count_arrays import counts_of
from tests.support.tables import first_of_each
from tests.training.evaluation.draw import classified, multilabelled, regressed

KINDS = {
    "classification": (lambda: Classification(4, bins=64), lambda r, n: classified(r, n, 4, (1,))),
    "classification, many scores": (
        lambda: Classification(4, bins=64, exact_scores=70),
        lambda r, n: classified(r, n, 4, (1,)),
    ),
    "multilabel": (lambda: MultiLabelEvaluation(3, bins=64), lambda r, n: multilabelled(r, n, 3)),
    "mean loss": (
        lambda: MeanLoss(),
        lambda r, n: (r.normal(size=(n, 2, 3)), np.zeros(n), r.random(n)),
    ),
    "regression": (lambda: Regression(3), lambda r, n: regressed(r, n, 3)),
}
SIZES = st.lists(st.integers(0, 12), min_size=1, max_size=6)


def numbers(evaluation):
    """Returns all counts as one array."""
    counts = counts_of(pickle.loads(pickle.dumps(evaluation)))
    return np.concatenate([np.ravel(array) for array in counts]).astype(float)


def assert_same(one, other):
    """Counts must agree exactly and float sums up to rounding, so figures agree too."""
    np.testing.assert_allclose(numbers(one), numbers(other), rtol=1e-9, atol=1e-9)
    assert one.figures().keys() == other.figures().keys()


def test_every_kind_has_a_row():
    made = {type(make()) for make, _ in KINDS.values()}
    assert made == set(Evaluation.__subclasses__())


@pytest.mark.parametrize("name", first_of_each(KINDS))
@settings(deadline=None, max_examples=40)
@given(sizes=SIZES, cut=st.integers(0, 6), seed=st.integers(0, 99))
def test_merging_is_associative_and_the_same_as_adding_all_at_once(name, sizes, cut, seed):
    make, draw = KINDS[name]
    rng = np.random.default_rng(seed)
    batches = [draw(rng, n) for n in sizes]
    parts = [make().add(*batch) for batch in batches]
    whole = make().add(*(np.concatenate(column) for column in zip(*batches, strict=True)))

    def merged(group):
        total = make()
        for part in group:
            total = total.merge(part)
        return total

    assert_same(merged(parts), whole)
    assert_same(merged(parts[:cut]).merge(merged(parts[cut:])), whole)
    assert_same(merged(parts[::-1]), whole)


@pytest.mark.parametrize("name", KINDS)
def test_merge_leaves_both_as_they_are(name, rng):
    make, draw = KINDS[name]
    one, other = make().add(*draw(rng, 5)), make().add(*draw(rng, 7))
    before = numbers(one), numbers(other)
    merged = one.merge(other).add(*draw(rng, 3))
    assert (one.examples, other.examples, merged.examples) == (5, 7, 15)
    np.testing.assert_array_equal(numbers(one), before[0])
    np.testing.assert_array_equal(numbers(other), before[1])


@pytest.mark.parametrize("name", KINDS)
def test_a_pickle_is_the_same_evaluation(name, rng):
    make, draw = KINDS[name]
    evaluation = make().add(*draw(rng, 30))
    again = pickle.loads(pickle.dumps(evaluation))
    assert again.figures() == evaluation.figures() and str(again) == str(evaluation)


@pytest.mark.parametrize("name", KINDS)
def test_figures_are_plain_numbers_with_a_score_among_them(name, rng):
    make, draw = KINDS[name]
    evaluation = make().add(*draw(rng, 30))
    figures = json.loads(json.dumps(evaluation.figures()))
    assert evaluation.score in figures.values() and figures["loss"] == evaluation.loss


def test_different_options_do_not_merge():
    with pytest.raises(ConfigError, match="cannot merge Classification.classes=3.*options must be"):
        Classification(3).merge(Classification(4))
    with pytest.raises(ConfigError, match="cannot merge"):
        Classification(3).merge(Regression(3))
