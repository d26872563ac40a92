"""Classification matches scikit-learn."""

import pickle

import numpy as np
import pytest
from sklearn import metrics

from sparkdl.errors import ConfigError, DataError
from sparkdl.training.evaluation import Classification
from tests.training.evaluation.draw import classified

KINDS = {
    "two classes": (2, ()),
    "ten classes": (10, ()),
    "classes that never occur": (6, (0, 4)),
    "one class only": (3, (0, 2)),
}


@pytest.fixture(params=KINDS, name="case")
def _case(request):
    classes, absent = KINDS[request.param]
    predictions, labels = classified(np.random.default_rng(3), 400, classes, absent)
    return Classification(classes).add(predictions, labels), predictions, labels


def test_confusion_and_accuracy(case):
    evaluation, predictions, labels = case
    chosen, names = predictions.argmax(1), range(evaluation.classes)
    expected = metrics.confusion_matrix(labels, chosen, labels=names)
    np.testing.assert_array_equal(evaluation.confusion, expected)
    assert evaluation.confusion.dtype == np.int64
    assert evaluation.accuracy == metrics.accuracy_score(labels, chosen)
    assert evaluation.score == evaluation.accuracy


@pytest.mark.parametrize("figure", ["precision", "recall", "f1"])
def test_rates(case, figure):
    evaluation, predictions, labels = case
    score = getattr(metrics, f"{figure}_score")
    options = {"labels": range(evaluation.classes), "zero_division": 0}
    by_class = score(labels, predictions.argmax(1), average=None, **options)
    np.testing.assert_allclose(getattr(evaluation.by_class, figure), by_class, rtol=1e-12)
    mean = score(labels, predictions.argmax(1), average="macro", **options)
    assert getattr(evaluation, figure) == pytest.approx(mean, rel=1e-12)


def test_a_class_that_is_neither_there_nor_predicted_counts_as_zero():
    predictions = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]])
    evaluation = Classification(3).add(predictions, np.array([0, 1]))
    assert evaluation.by_class.f1.tolist() == [1, 1, 0]
    assert evaluation.f1 == pytest.approx(2 / 3)


@pytest.mark.parametrize("k", [1, 2, 5, 9, 10])
def test_top_k(k, rng):
    predictions, labels = classified(rng, 300, 10)
    expected = metrics.top_k_accuracy_score(labels, predictions, k=min(k, 9), labels=range(10))
    expected = 1.0 if k == 10 else expected
    assert Classification(10).add(predictions, labels).top_k(k) == pytest.approx(expected)


@pytest.mark.parametrize("k", [0, -1, 1.5, "2", None])
def test_a_top_k_of_no_positive_integer_is_refused(k):
    with pytest.raises(ConfigError, match="k must be an integer >= 1, got"):
        Classification(3).add(np.eye(3), np.arange(3)).top_k(k)


@pytest.mark.parametrize("labels", [["x"], [["a", "b"]], [[1], [1, 2]]])
def test_labels_that_are_no_numbers_are_refused(labels):
    with pytest.raises(DataError, match="labels must be an array of real numbers, got"):
        Classification(2).add([[0.2, 0.8]], labels)
    with pytest.raises(DataError, match="predictions must be an array of real numbers, got"):
        Classification(2).add([["a", "b"]], [0])


def test_of_equal_probabilities_the_first_class_counts():
    evaluation = Classification(3).add(np.full((2, 3), 1 / 3), np.array([0, 2]))
    assert evaluation.accuracy == 0.5
    assert [evaluation.top_k(k) for k in (1, 2, 3)] == [0.5, 0.5, 1]
    assert evaluation.confusion[:, 0].tolist() == [1, 0, 1]


def test_loss(rng):
    predictions, labels = classified(rng, 50, 4)
    evaluation = Classification(4).add(predictions, labels)
    assert evaluation.loss == pytest.approx(metrics.log_loss(labels, predictions, labels=range(4)))


def test_a_loss_that_is_given_is_used():
    predictions, labels = classified(np.random.default_rng(0), 4, 3)
    assert Classification(3).add(predictions, labels, losses=[1, 2, 3, 6]).loss == 3


def test_a_probability_of_zero_has_a_finite_loss():
    evaluation = Classification(2).add(np.array([[1.0, 0.0]]), np.array([1]))
    assert 80 < evaluation.loss < 90


def test_auc_is_the_mean_over_classes_that_can_have_one():
    predictions, labels = classified(np.random.default_rng(1), 500, 4, absent=(2,))
    evaluation = Classification(4).add(predictions, labels)
    exact = [metrics.roc_auc_score(labels == c, predictions[:, c]) for c in (0, 1, 3)]
    assert np.isnan(evaluation.auc(2))
    assert evaluation.auc() == pytest.approx(np.mean(exact), abs=1e-12)
    assert evaluation.auc(1) == pytest.approx(exact[1], abs=1e-12)
    assert evaluation.auc_is_exact and evaluation.auc_error() == 0


def test_above_the_limit_auc_is_that_of_bins_and_the_report_says_so():
    predictions, labels = classified(np.random.default_rng(1), 500, 4)
    exact = [metrics.roc_auc_score(labels == c, predictions[:, c]) for c in range(4)]
    evaluation = Classification(4, exact_scores=2000).add(predictions, labels)
    assert evaluation.auc_is_exact and "off by" not in str(evaluation)
    evaluation = Classification(4, exact_scores=1999).add(predictions, labels)
    assert not evaluation.auc_is_exact
    assert evaluation.auc(1) != pytest.approx(exact[1], abs=1e-12)
    assert evaluation.auc(1) == pytest.approx(exact[1], abs=evaluation.auc_error(1))
    assert 0 < evaluation.auc_error() < 0.01
    assert f"auc is off by at most {evaluation.auc_error():.4f}" in " ".join(
        str(evaluation).split()
    )


BAD = {
    "label too large": ([[0.5, 0.5]], [2], r"labels must be in \[0, 2\), got 2 in example 0"),
    "label negative": ([[0.5, 0.5]], [-1], r"labels must be in \[0, 2\), got -1 in example 0"),
    "labels not whole": ([[0.5, 0.5]], [0.5], "labels must be 1 integers, got float64"),
    "too few labels": ([[0.5, 0.5]] * 2, [1], r"labels must be 2 integers, got int64 \(1,\)"),
    "too few classes": ([[0.5]], [0], r"must have shape \(n, 2\), got \(1, 1\)"),
    "nan": ([[0.5, 0.5], [0.5, np.nan]], [0, 1], "must be finite, got nan in example 1 at 1"),
    "logits": ([[3.0, -1.0]], [0], r"probabilities must be in \[0, 1\], got 3.0 in example 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_refused_and_not_counted(name):
    predictions, labels, message = BAD[name]
    evaluation = Classification(2)
    with pytest.raises(DataError, match=message):
        evaluation.add(np.array(predictions), np.array(labels))
    assert evaluation.examples == evaluation.confusion.sum() == evaluation.ranks.sum() == 0


def test_losses_of_another_length_are_refused():
    with pytest.raises(DataError, match=r"1 examples need 1 losses, got shape \(2,\)"):
        Classification(2).add(np.array([[0.5, 0.5]]), np.array([0]), losses=[1, 2])


OPTIONS = {
    "one class": ({"classes": 1}, "Classification.classes must be an integer >= 2, got 1"),
    "names": ({"classes": 3, "labels": ["a"]}, r"labels must be 3 names, got \('a',\)"),
    "bins": ({"classes": 2, "bins": 0}, "bins must be an integer >= 1, got 0"),
    "exact scores": ({"classes": 2, "exact_scores": -1}, "exact_scores must be an integer >= 0"),
    "top": ({"classes": 9, "top": (0,)}, r"top must be integers >= 1, got \(0,\)"),
    "top that is one": ({"classes": 3, "top": 3}, "top must be integers >= 1, got 3"),
    "top of text": ({"classes": 3, "top": ("a",)}, r"top must be integers >= 1, got \('a',\)"),
    "names that are a number": ({"classes": 3, "labels": 5}, "labels must be 3 names, got 5"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_that_cannot_work_are_refused(name):
    options, message = OPTIONS[name]
    with pytest.raises(ConfigError, match=message):
        Classification(**options)


def test_counts_stay_small_with_many_classes():
    evaluation = Classification(1000)
    assert evaluation.scores.positive.nbytes + evaluation.scores.negative.nbytes <= 2**23


@pytest.mark.slow
def test_a_hundred_thousand_classes_are_counted():
    classes, rng = 100_000, np.random.default_rng(0)
    predictions, labels = rng.random((20, classes), np.float32), rng.integers(0, classes, 20)
    predictions[np.arange(10), labels[:10]] = 1
    evaluation = Classification(classes).add(predictions, labels)
    again = pickle.loads(pickle.dumps(evaluation)).merge(Classification(classes))
    assert again.accuracy == metrics.accuracy_score(labels, predictions.argmax(1))
    mean = metrics.recall_score(labels, predictions.argmax(1), average="macro", zero_division=0)
    seen = np.union1d(labels, predictions.argmax(1))
    assert again.recall == pytest.approx(mean * len(seen) / classes, rel=1e-12)
    assert "(the 20 of lowest f1)" in str(again)
    with pytest.raises(ConfigError, match="at most 10,000 classes, got 100,000"):
        evaluation.confusion  # noqa: B018


def test_a_pickle_of_many_classes_is_small(rng):
    evaluation = Classification(1000).add(*classified(rng, 256, 1000))
    assert len(pickle.dumps(evaluation)) < 2**20


def test_the_report_shows_figures_classes_and_confusion():
    predictions = np.array([[0.9, 0.1, 0], [0.6, 0.4, 0], [0, 0.3, 0.7]])
    names = ["cat", "dog", "owl"]
    text = str(Classification(3, names, top=(2,)).add(predictions, np.array([0, 1, 2])))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "examples 3" in lines and "accuracy 0.6667" in lines and "top_2 1.0000" in lines
    assert "cat 0.5000 1.0000 0.6667 1.0000 1" in lines
    matrix = ["cat dog owl", "cat 1 0 0", "dog 1 0 0", "owl 0 0 1"]
    assert lines[-5:] == ["rows: truth, columns: prediction", *matrix]


def test_the_report_of_many_classes_shows_the_worst():
    predictions, labels = classified(np.random.default_rng(0), 3000, 50)
    evaluation = Classification(50).add(predictions, labels)
    text = str(evaluation)
    assert "(the 20 of lowest f1)" in text and len(text.splitlines()) < 60
    wrong = evaluation.confusion * (1 - np.eye(50, dtype=int))
    truth, chosen = np.unravel_index(wrong.argmax(), wrong.shape)
    assert f"{truth} {chosen} {wrong.max()}" in [" ".join(x.split()) for x in text.splitlines()]


def test_no_examples_is_not_an_error():
    evaluation = Classification(3)
    assert (
        np.isnan(evaluation.accuracy) and np.isnan(evaluation.loss) and np.isnan(evaluation.auc())
    )
    assert str(evaluation) == "no examples"


def test_one_hot_labels_count_like_classes(rng):
    predictions = rng.dirichlet(np.ones(3), 20)
    labels = rng.integers(0, 3, 20)
    classes = Classification(3).add(predictions, labels)
    rows = Classification(3).add(predictions, np.eye(3, dtype=np.float32)[labels])
    np.testing.assert_array_equal(rows.confusion, classes.confusion)
    assert rows.figures() == classes.figures()


@pytest.mark.parametrize("column", [3, 7, -4, 1.0, "a"])
@pytest.mark.parametrize("figure", ["auc", "auc_error", "roc"])
def test_a_column_that_is_none_is_refused(figure, column, rng):
    evaluation = Classification(3).add(*classified(rng, 20, 3))
    with pytest.raises(
        ConfigError, match=rf"column must be an integer in \[0, 3\), got .*{column}"
    ):
        getattr(evaluation, figure)(column)
    assert evaluation.auc(-1) == evaluation.auc(np.int64(2))
