"""Votes match scikit-learn's VotingClassifier, and means by hand."""

import numpy as np
import pytest
from sklearn.ensemble import VotingClassifier
from sklearn.preprocessing import LabelEncoder

from sparkdl.errors import ConfigError
from sparkdl.spark.inference.output_columns import CLASSES, VALUES, YES_OR_NO
from sparkdl.tune.vote_tasks import Vote
from sparkdl.tune.votes import combine, weights_of

OUTPUTS = np.random.default_rng(0).dirichlet(np.ones(4), size=(3, 50))
WEIGHTS = [0.5, 0.2, 0.9]


class Fitted:
    """A classifier that returns fixed probabilities."""

    def __init__(self, y):
        self.y = y

    def predict_proba(self, x):
        return self.y

    def predict(self, x):
        return self.y.argmax(axis=1)


def voting_classifier(voting, weights):
    members = [Fitted(y) for y in OUTPUTS]
    names = [(str(n), member) for n, member in enumerate(members)]
    made = VotingClassifier(names, voting=voting, weights=weights)
    made.estimators_, made.le_ = members, LabelEncoder().fit(range(4))
    made.classes_ = made.le_.classes_
    return made


@pytest.mark.parametrize("voting, weights", [("soft", None), ("hard", None), ("soft", WEIGHTS)])
def test_the_class_is_that_of_scikit_learn(voting, weights):
    ours = combine(OUTPUTS, voting, weights).argmax(axis=1)
    theirs = voting_classifier(voting, weights).predict(np.zeros((50, 1)))
    np.testing.assert_array_equal(ours, theirs)


def test_soft_is_the_mean_and_weighted_the_weighted_mean():
    np.testing.assert_allclose(combine(OUTPUTS, "soft"), OUTPUTS.mean(axis=0))
    by_hand = sum(w * y for w, y in zip(WEIGHTS, OUTPUTS)) / sum(WEIGHTS)
    np.testing.assert_allclose(combine(OUTPUTS, "weighted", WEIGHTS), by_hand)


def test_hard_gives_shares_of_the_votes_and_the_first_class_of_a_tie():
    outputs = np.array([[[0.2, 0.8, 0.0]], [[0.9, 0.1, 0.0]]])
    np.testing.assert_array_equal(combine(outputs, "hard"), [[0.5, 0.5, 0.0]])
    assert combine(outputs, "hard").argmax(axis=1) == [0]


def test_a_yes_or_no_has_two_sides():
    outputs = [np.array([[0.9], [0.4]]), np.array([[0.8], [0.3]]), np.array([[0.1], [0.9]])]
    hard = Vote(YES_OR_NO, "hard", None).outcome(outputs)
    np.testing.assert_allclose(hard, [[2 / 3], [1 / 3]])
    soft = Vote(YES_OR_NO, "soft", None).outcome(outputs)
    np.testing.assert_allclose(soft, np.mean(outputs, axis=0))


@pytest.mark.parametrize("kind", [CLASSES, VALUES])
def test_a_weight_of_nothing_leaves_a_network_out(kind):
    found = Vote(kind, "weighted", (1.0, 0.0, 0.0)).outcome(list(OUTPUTS))
    np.testing.assert_allclose(found, OUTPUTS[0])


def test_better_figures_weigh_more():
    assert weights_of([0.5, 0.25], larger_is_better=True) == [0.5, 0.25]
    assert weights_of([0.5, 0.25], larger_is_better=False) == [2.0, 4.0]


@pytest.mark.parametrize("figures, larger", [([0.5, -1], True), ([0.0, 1], False), ([0, 0], True)])
def test_figures_that_are_no_weights_are_refused(figures, larger):
    with pytest.raises(ConfigError, match="voting must be 'soft' or 'hard' where figures"):
        weights_of(figures, larger)
