"""Curves have the numbers of the reports, each with its update, epoch and second."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.training.report.curves import evaluation_curves, round_curves, short
from sparkdl.training.report.run import Run
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.reports import ValidationReport
from tests.training.report.fits import evaluation, history, network


def test_each_round_has_its_place():
    curves = round_curves(Run.of("a", history()))
    assert curves["update"] == [5, 10, 15, 20, 25, 30]
    assert curves["epoch"] == pytest.approx([1 / 3, 2 / 3, 1, 4 / 3, 5 / 3, 2], rel=1e-5)
    assert curves["second"] == [6, 8, 10, 13, 15, 17], "the evaluation took a second"
    assert curves["loss"] == pytest.approx([1 / n for n in curves["update"]], rel=1e-5)
    assert curves["examples/s"] == [50] * 6
    assert "learning rate" not in curves


def test_the_learning_rate_is_that_of_the_last_update():
    rates = round_curves(Run.of("a", history(), network()))["learning rate"]
    assert rates == pytest.approx([0.5, 0.5, 0.05, 0.05, 0.005, 0.005])


def test_rates_are_lowered_from_the_round_on_that_listeners_have_lowered_them():
    made, factors = history(), [1, 1, 0.5, 0.5, 0.25, 0.25]
    pairs = zip(made.rounds, factors, strict=True)
    made.rounds = [replace(one, rate_factor=factor) for one, factor in pairs]
    net = network()
    net.state = replace(net.state, rate_factor=0.25)  # as the fit leaves it
    expected = [0.5, 0.5, 0.025, 0.025, 0.00125, 0.00125]
    assert round_curves(Run.of("a", made, net))["learning rate"] == pytest.approx(expected)
    assert round_curves(Run("a", made, net.conf))["learning rate"] == pytest.approx(expected)


def test_updates_keep_all_their_digits():
    made = history()
    made.rounds = [replace(one, iteration=one.iteration * 246_913) for one in made.rounds]
    curves = evaluation_curves(Run.of("a", made))
    assert curves["update"] == [15 * 246_913, 30 * 246_913]
    assert set(curves["update"]) <= set(round_curves(Run.of("a", made))["update"])


def test_an_evaluation_has_the_place_of_its_epoch():
    curves = evaluation_curves(Run.of("a", history()))
    assert (curves["update"], curves["epoch"], curves["second"]) == ([15, 30], [1, 2], [10, 17])
    expected = [evaluation(seed).accuracy for seed in (0, 1)]
    assert curves["accuracy"] == pytest.approx(expected)


def test_an_evaluation_by_updates_has_the_place_of_its_round():
    made = history()
    made.validations += [
        ValidationReport(iteration=update, epoch=0, validation=evaluation(seed))
        for seed, update in enumerate((0, 10))
    ]
    curves = evaluation_curves(Run.of("a", made))
    assert (curves["update"], curves["second"]) == ([0, 10, 15, 30], [0, 8, 10, 17])


def test_nothing_gives_nothing():
    assert round_curves(Run.of("a", History()))["loss"] == []
    assert evaluation_curves(Run.of("a", History())) == {}


def test_numbers_are_json():
    assert short([1 / 3, np.float32(2), np.nan, np.inf, None]) == [0.333333, 2.0, None, None, None]
