"""The notebook views of a History and of an Evaluation."""

import re
from dataclasses import replace

import numpy as np
import pytest

from sparkdl.training.evaluation import Classification, Regression
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.reports import ValidationReport
from tests.training.report.fits import PICTURE, evaluation, history


def texts(made):
    return [text.strip() for text in re.findall(r">([^<>]+)<", made._repr_html_()) if text.strip()]


def test_a_history_shows_epochs_and_phases():
    made = history()
    shown = texts(made)
    assert shown[:7] == ["Epochs", "epoch", "loss", "score", "examples", "examples/s", "seconds"]
    first = made.epochs[0]
    numbers = ["1", f"{first.loss:.4g}", f"{first.score:.4g}", "300", "50", "6"]
    assert shown[7:13] == numbers
    assert "starting" in shown and made.advice() in shown
    assert any(text.startswith("worker 1 &lt;/script&gt;") for text in shown)


def test_a_history_of_nothing_says_so():
    assert texts(History()) == ["no rounds"]


def test_a_history_shows_evaluations_by_updates_and_what_was_left_out():
    made = history()
    made.rounds = [replace(one, skipped=2) for one in made.rounds]
    made.validations = [
        ValidationReport(iteration=update, epoch=0, validation=evaluation(update))
        for update in (7, 14)
    ]
    shown = texts(made)
    start = shown.index("Evaluations by updates")
    names = list(evaluation().figures())
    assert shown[start + 1 : start + 2 + len(names)] == ["update", *names]
    first = [f"{value:.4g}" for value in evaluation(7).figures().values()]
    assert shown[start + 2 + len(names) :][: len(names) + 1] == ["7", *first]
    text = "12 updates left out: gradients in float16 were not finite"
    assert text in shown and text in str(made)


def test_an_evaluation_shows_figures_and_the_confusion_matrix():
    made = evaluation()
    shown = texts(made)
    assert shown[:4] == ["40 examples", "figure", "value", "loss"]
    assert f"{made.accuracy:.4g}" in shown
    counts = shown[shown.index("Confusion matrix") + 5 :]
    assert counts[:4] == ["ant", *map(str, made.confusion[0])]
    assert "&lt;bee&gt;" in counts


def test_an_evaluation_shows_the_examples_that_are_most_wrong():
    shown = texts(evaluation())
    rows = shown[shown.index("Most wrong examples") + 6 :]
    assert rows[:4] == ["7 of partition 0", "ant", "&lt;bee&gt; (0.9)", "3.5"]
    assert rows[4:] == ["3 of partition 1", "0.1", "cow", "ant (0.8)", "2.5"]
    assert f'<img src="{PICTURE}" alt="example 7"' in evaluation()._repr_html_()


def test_an_evaluation_of_values_shows_figures_alone():
    made = Regression(1).add(np.array([[1.0], [2.0]]), np.array([1.5, 2.0]))
    assert texts(made)[:4] == ["2 examples", "figure", "value", "loss"]
    assert "Confusion matrix" not in texts(made)


@pytest.mark.parametrize("classes, shown", [(30, True), (31, False)])
def test_of_a_large_confusion_matrix_the_worst_confusions_are_shown(classes, shown):
    scores = np.random.default_rng(0).dirichlet(np.ones(classes), 200)
    made = Classification(classes).add(scores, np.zeros(200, int))
    assert ("Confusion matrix" in texts(made)) == shown
    caption = f"The worst confusions (the matrix of {classes} classes is too large to show)"
    assert (caption in texts(made)) == (not shown)
    if not shown:
        start = texts(made).index(caption)
        rows = " ".join(texts(made)[start + 1 :]).split()
        told = str(made).split("\n\n")[-1].split()
        assert rows[: len(told)] == told and len(told) == 3 * 21
