"""A confusion matrix is read from a log as it was written."""

import json

import numpy as np
import pytest

from sparkdl.html_elements import text_of
from sparkdl.training.evaluation import Classification
from sparkdl.training.evaluation.classification_report import worst_confusions
from sparkdl.training.report.run_folder import evaluation_of
from sparkdl.training.report.run_lines import MOST_ROWS, evaluation_line
from sparkdl.training.report.tables import confusion_table
from tests.training.evaluation.draw import classified


@pytest.mark.parametrize("classes", [3, MOST_ROWS, MOST_ROWS + 1, 20_000])
def test_a_log_has_the_counts_of_few_and_of_many_classes(classes, rng):
    made = Classification(classes).add(*classified(rng, 9, classes))
    line = evaluation_line(made)
    event = json.loads(line)
    event.pop("event")
    found = evaluation_of(**event)
    assert len(line) < 20 * classes + 30_000
    assert worst_confusions(found) == worst_confusions(made)
    assert text_of(confusion_table(found)) == text_of(confusion_table(made))
    for one, other in zip(found.pairs.triples(), made.pairs.triples(), strict=True):
        np.testing.assert_array_equal(one, other)
    if classes <= 10_000:
        np.testing.assert_array_equal(found.confusion, made.confusion)
