"""The notebook view of a search, for a study made with Optuna."""

import re

import optuna
import pytest

from sparkdl.tune.notebook import MOST, search_html

RATE = {"<rate>": optuna.distributions.FloatDistribution(0.0, 1.0)}


def study_of(direction, *trials):
    study = optuna.create_study(direction=direction)
    for value, state in trials:
        rate = {"params": {"<rate>": 0.25}, "distributions": RATE}
        study.add_trial(optuna.create_trial(value=value, state=state, **rate))
    return study


def rows(study):
    _, *found = re.findall(r"<tr>(.*?)</tr>", search_html(study))
    return [re.findall(r">([^<>]*)</t[hd]>", row) for row in found]


DONE, FAILED = optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.FAIL


@pytest.mark.parametrize("direction, order", [("minimize", "2031"), ("maximize", "3021")])
def test_the_best_stands_on_top_and_failed_ones_below(direction, order):
    study = study_of(direction, (0.5, DONE), (None, FAILED), (0.25, DONE), (0.75, DONE))
    shown = rows(study)
    assert "".join(row[0] for row in shown) == order
    assert shown[0][0] == str(study.best_trial.number)
    assert shown[0][1:4] == ["complete", f"{study.best_value:g}", "0.25"]
    assert shown[-1][1:3] == ["fail", ""]
    assert '<th scope="col">&lt;rate&gt;</th>' in search_html(study)


def test_many_trials_are_cut_and_the_page_says_so():
    study = study_of("minimize", *((n / 100, DONE) for n in range(MOST + 1)))
    assert len(rows(study)) == MOST
    assert f"{MOST + 1} trials, of which the first {MOST}" in search_html(study)


@pytest.mark.parametrize("study", [None, optuna.create_study()])
def test_before_the_first_trial_it_says_so(study):
    assert search_html(study) == "<p>no trials yet</p>"
