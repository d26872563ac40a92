"""Evaluations of weighted examples are scikit-learn's with sample_weight, in any division."""

import pickle

import numpy as np
import pytest
from sklearn import metrics

from sparkdl.errors import DataError
from sparkdl.training.evaluation import Classification, MultiLabelEvaluation, Regression
from sparkdl.training.evaluation.batch_evaluation import counts_of, with_counts
from sparkdl.training.evaluation.mean_loss import MeanLoss

N, K = 700, 3
TINY = np.finfo(np.float32).tiny  # lower limit of probabilities in a loss


@pytest.fixture
def w(rng):
    """Weights, some of which are 0."""
    return rng.choice([0.0, 0.25, 1.0, 3.7], N).astype(np.float32)


def shares(rng, k=K):
    z = np.exp(rng.normal(size=(N, k)))
    return np.round(z / z.sum(axis=1, keepdims=True), 2)  # with ties


def counted(make, predictions, labels, w, parts=4):
    """Returns the evaluation of a few processes, whose counts are sent, and added up."""
    whole = None
    for part in np.array_split(np.arange(N), parts):
        one = make().add(predictions[part], labels[part], weights=w[part])
        sent = with_counts(make(), counts_of(pickle.loads(pickle.dumps(one))))
        whole = sent if whole is None else whole.merge(sent)
    return whole


def first_two(p):
    """Returns the two most probable classes (n, 2), the first of equals first."""
    return np.argsort(-p, axis=1, kind="stable")[:, :2]


EXACT = [None, 0]  # whether scores are counted one by one, or in bins


@pytest.mark.parametrize("exact", EXACT)
def test_classes_are_those_of_scikit_learn(exact, rng, w):
    p, y = shares(rng), rng.integers(0, K, N)
    found = counted(lambda: Classification(K, top=(1, 2), exact_scores=exact), p, y, w)
    said, one_hot, known = p.argmax(axis=1), np.eye(K)[y], range(K)
    weighted = {"sample_weight": w}
    rates = metrics.precision_recall_fscore_support(y, said, average="macro", **weighted)[:3]
    expected = {
        "loss": np.mean(-np.log(np.maximum(p[range(N), y], TINY)) * w),
        "accuracy": metrics.accuracy_score(y, said, **weighted),
        "top_2": np.average((first_two(p) == y[:, None]).any(axis=1), weights=w),
        **dict(zip(("precision", "recall", "f1"), rates, strict=True)),
        "auc": np.mean([metrics.roc_auc_score(one_hot[:, k], p[:, k], **weighted) for k in known]),
    }
    figures = found.figures()
    assert list(figures) == list(expected)
    off = found.auc_error()
    assert figures.pop("auc") == pytest.approx(expected.pop("auc"), abs=1e-12 + off)
    assert figures == pytest.approx(expected, rel=1e-6)
    matrix = metrics.confusion_matrix(y, said, **weighted)
    np.testing.assert_allclose(found.confusion, matrix, rtol=1e-6)
    assert (found.examples, found.weight) == (N, pytest.approx(w.sum()))
    correlation = metrics.matthews_corrcoef(y, said, **weighted)
    assert found.matthews_correlation == pytest.approx(correlation, abs=1e-9)
    assert "examples" in str(found)
    if exact is None:
        curve = metrics.roc_curve(one_hot[:, 0], p[:, 0], drop_intermediate=False, **weighted)
        np.testing.assert_allclose(found.scores.auc()[0], metrics.auc(*curve[:2]), rtol=1e-6)
        assert found.roc(0).true_positive_rate[-1] == 1


def test_the_log_loss_is_that_of_scikit_learn(rng, w):
    p, y = np.clip(rng.random((N, 1)), 0.01, 0.99), rng.integers(0, 2, N)
    found = counted(lambda: MultiLabelEvaluation(1), p, y[:, None], w)
    loss = metrics.log_loss(y, p[:, 0], sample_weight=w) * w.mean()
    assert found.loss == pytest.approx(loss, rel=1e-9)
    area = metrics.roc_auc_score(y, p[:, 0], sample_weight=w)
    assert found.auc() == pytest.approx(area, rel=1e-9)


def test_several_labels_are_those_of_scikit_learn(rng, w):
    p, y = rng.random((N, K)), rng.integers(0, 2, (N, K))
    found = counted(lambda: MultiLabelEvaluation(K), p, y, w)
    said = p >= 0.5
    figures, weighted = found.figures(), {"sample_weight": w}
    assert figures["exact_match"] == pytest.approx(metrics.accuracy_score(y, said, **weighted))
    each = [metrics.accuracy_score(y[:, k], said[:, k], **weighted) for k in range(K)]
    assert figures["accuracy"] == pytest.approx(np.mean(each))
    rates = metrics.precision_recall_fscore_support(y, said, average="macro", **weighted)[:3]
    assert [figures[name] for name in ("precision", "recall", "f1")] == pytest.approx(rates)
    assert figures["auc"] == pytest.approx(metrics.roc_auc_score(y, p, **weighted))
    assert found.average_precision() == pytest.approx(
        metrics.average_precision_score(y, p, **weighted)
    )
    each = [metrics.matthews_corrcoef(y[:, k], said[:, k], **weighted) for k in range(K)]
    assert found.matthews_correlation() == pytest.approx(np.mean(each))


@pytest.mark.filterwarnings("ignore:A single label was found")
@pytest.mark.parametrize("seed", range(4))
def test_correlation_with_a_label_that_does_not_vary_is_0_in_spite_of_rounding(seed):
    """Sums of weights that miss each other by a digit gave 1 or -1."""
    rng = np.random.default_rng(seed)
    weights = rng.random(rng.integers(5, 200))
    p, y = rng.uniform(0.6, 0.9, (len(weights), 1)), np.ones((len(weights), 1))
    found = MultiLabelEvaluation(1).add(p, y, weights=weights)
    theirs = metrics.matthews_corrcoef(y[:, 0], p[:, 0] >= 0.5, sample_weight=weights)
    assert found.matthews_correlation() == theirs == 0


def test_values_are_those_of_scikit_learn(rng, w):
    y = 1000 + rng.normal(size=(N, 2))
    p = y + rng.normal(size=(N, 2)) / 3
    found, weighted = counted(lambda: Regression(2), p, y, w), {"sample_weight": w}
    expected = {
        "loss": metrics.mean_squared_error(y, p, **weighted) * w.mean(),
        "mse": metrics.mean_squared_error(y, p, **weighted),
        "mae": metrics.mean_absolute_error(y, p, **weighted),
        "rmse": metrics.root_mean_squared_error(y, p, **weighted),
        "r2": metrics.r2_score(y, p, **weighted),
        "correlation": np.mean(
            [np.cov(y[:, k], p[:, k], aweights=w)[0, 1] / spread(y, p, w, k) for k in range(2)]
        ),
    }
    assert found.figures() == pytest.approx(expected, rel=1e-6)


def spread(y, p, w, k):
    return np.sqrt(np.cov(y[:, k], aweights=w) * np.cov(p[:, k], aweights=w))


def test_given_losses_have_their_weights(rng, w):
    losses = rng.random(N)
    found = MeanLoss().add(np.zeros((N, 1)), np.zeros(N), losses * w, w)
    assert found.loss == pytest.approx(np.mean(losses * w))


KINDS = {
    "classes": (lambda: Classification(K), lambda rng: rng.integers(0, K, N)),
    "labels": (lambda: MultiLabelEvaluation(K), lambda rng: rng.integers(0, 2, (N, K))),
    "values": (lambda: Regression(K), lambda rng: rng.normal(size=(N, K))),
}


@pytest.mark.parametrize("name", KINDS)
def test_weights_of_one_change_nothing_but_types(name, rng):
    make, draw = KINDS[name]
    p, y = shares(rng), draw(rng)
    plain, weighted = make().add(p, y), make().add(p, y, weights=np.ones(N))
    assert weighted.figures() == pytest.approx(plain.figures(), rel=1e-12)
    assert plain.weight == plain.examples == N
    both = plain.merge(weighted)
    assert both.figures() == pytest.approx(plain.figures(), rel=1e-12)


@pytest.mark.parametrize("name", KINDS)
def test_without_any_weight_figures_are_unknown(name, rng):
    make, draw = KINDS[name]
    found = make().add(shares(rng), draw(rng), weights=np.zeros(N))
    assert found.loss == 0
    assert np.isnan(found.figures()["mse" if name == "values" else "accuracy"])
    assert found.merge(make().add(shares(rng), draw(rng))).weight == N


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(
    "wrong, message",
    {
        (3.0,): "700 examples need 700 weights, got shape",
        -1.0: ">= 0, got -1.0",
        np.nan: "got nan",
    }.items(),
)
def test_what_is_no_weight_is_refused(name, wrong, message, rng):
    make, draw = KINDS[name]
    weights = np.array(wrong) if isinstance(wrong, tuple) else np.full(N, wrong)
    found = make()
    with pytest.raises(DataError, match=message):
        found.add(shares(rng), draw(rng), weights=weights)
    assert found.examples == 0
