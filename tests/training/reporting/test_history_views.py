"""A History as a DataFrame and as an image."""

import sys
from types import SimpleNamespace

import pytest

from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.reports import ValidationReport
from tests.training.reports import report

FIGURES = SimpleNamespace(figures=lambda: {"loss": 0.5, "accuracy": 0.75}, score=0.75)


def made(epochs=2):
    history = History()
    for epoch in range(epochs):
        for number in range(2):
            history.add_round(report(epoch, number, loss=2.0 - epoch))
        history.end_epoch(FIGURES if epoch else None)
    history.validations.append(ValidationReport(iteration=3, epoch=0, validation=FIGURES))
    return history


@pytest.mark.slow
def test_epochs_rounds_and_validations_are_tables():
    history = made()
    epochs = history.to_pandas()
    assert epochs["loss"].tolist() == [2.0, 1.0] and epochs["epoch"].tolist() == [0, 1]
    assert epochs["validation accuracy"].isna().tolist() == [True, False]
    assert epochs["seconds of compute"].tolist() == [2.8, 2.8]
    rounds = history.to_pandas("rounds")
    assert len(rounds) == 4 and rounds["examples"].sum() == 400
    assert history.to_pandas("validations").to_dict("records") == [
        {"iteration": 3, "epoch": 0, "validation loss": 0.5, "validation accuracy": 0.75}
    ]
    assert not len(History().to_pandas())
    with pytest.raises(ConfigError, match=r"of must be one of .'epochs', .* got 'steps'"):
        history.to_pandas("steps")


@pytest.fixture
def axes():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    return figure.add_subplot()


def lines(axes):
    return {line.get_label(): list(line.get_xdata()) for line in axes.lines}


def test_losses_are_drawn_by_epoch(axes):
    assert made().plot(axes=axes) is axes
    assert lines(axes) == {"loss": [1, 2], "validation loss": [1, 2]}
    assert axes.get_xlabel() == "epoch"


def test_figures_are_chosen(axes):
    assert list(lines(made().plot(["validation accuracy"], axes))) == ["validation accuracy"]
    with pytest.raises(ConfigError, match="figures must be some of .*, got 'f1'"):
        made().plot(["f1"], axes)


def test_rounds_are_drawn_before_an_epoch_is_over(axes):
    history = History()
    for number in range(3):
        history.add_round(report(0, number))
    assert lines(history.plot(axes=axes)) == {"loss": [1, 2, 3]}
    assert axes.get_xlabel() == "round"


def test_without_matplotlib_it_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UnsupportedError, match="History.plot needs matplotlib: pip install"):
        made().plot()
