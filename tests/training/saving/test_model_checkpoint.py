"""Models under paths with the epoch and figures, named as Keras names them."""

import re
from types import SimpleNamespace

import pytest

from sparkdl.errors import CheckpointError, ConfigError
from sparkdl.training.network import Network
from sparkdl.training.reporting.lambda_listener import LambdaListener
from sparkdl.training.reporting.reports import EpochReport, ValidationReport
from sparkdl.training.saving.model_checkpoint import ModelCheckpoint
from tests.training.models import assert_equal
from tests.training.problems import Partitions, perceptron
from tests.training.reports import plan, report

DATA, TEST = Partitions([40, 30]), Partitions([9], seed=5)
CONF = perceptron()
ALL = ("loss", "validation loss", "validation f1")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def evaluated(**figures):
    return SimpleNamespace(figures=lambda: figures)


def began(path, **options):
    """Returns a ModelCheckpoint whose fit, with these figures, has begun."""
    listener = ModelCheckpoint(path, **options)
    listener.on_fit_start(plan(conf=CONF, figures=ALL))
    return listener


def state():
    return Network(CONF).state


@pytest.mark.slow
@pytest.mark.parametrize("field", ["validation_loss", "val_loss"])
def test_each_epoch_has_its_model(field, crews, tmp_path):
    states, network = [], Network(CONF)
    keeping = ModelCheckpoint(tmp_path / f"m-{{epoch:02d}}-{{loss:.4f}}-{{{field}:.3f}}")
    note = LambdaListener(on_epoch=lambda report, state: states.append(state))
    listeners = [keeping, note]
    history = network.fit(DATA, 3, workers=crews(2), validation=TEST, listeners=listeners)
    made = [
        f"m-{one.epoch + 1:02d}-{one.loss:.4f}-{one.validation.loss:.3f}" for one in history.epochs
    ]
    assert names(tmp_path) == sorted(made) and len(made) == 3
    for name, expected in zip(made, states, strict=True):
        assert_equal(Network.load(tmp_path / name).state, expected)


@pytest.mark.slow
def test_a_resumed_fit_counts_on(crews, tmp_path):
    network = Network(CONF)
    for _ in range(2):
        network.fit(DATA, 2, workers=crews(2), listeners=[ModelCheckpoint(tmp_path / "{epoch}")])
    assert names(tmp_path) == ["1", "2", "3", "4"]


def test_of_the_best_alone_each_has_a_path(tmp_path):
    listener = began(tmp_path / "{epoch}-{loss:.1f}", monitor="loss", save_best_only=True)
    for epoch, loss in enumerate([2.0, 3.0, 1.5, 1.6]):
        listener.on_epoch(EpochReport.of([report(epoch, loss=loss)]), state())
    assert names(tmp_path) == ["1-2.0", "3-1.5"]


def test_evaluations_by_updates_show_the_newest_loss(tmp_path):
    """The first epoch has no loss until it ends."""
    path = tmp_path / "{epoch}-{loss:.1f}-{val_f1:.1f}"
    listener = began(path, monitor="validation f1", save_best_only=True)
    for epoch, f1 in enumerate([0.1, 0.2]):
        evaluation = evaluated(loss=1.0, f1=f1)
        by_updates = ValidationReport(iteration=3, epoch=epoch, validation=evaluation)
        listener.on_validation(by_updates, state())
        listener.on_epoch(EpochReport.of([report(epoch, loss=2.5)]), state())
    assert names(tmp_path) == ["1-nan-0.1", "2-2.5-0.2"]


def test_a_field_that_the_fit_does_not_have_is_refused_before_it(tmp_path):
    message = r"^ModelCheckpoint.path must have fields among {epoch}, {loss}, {validation_loss}, "
    with pytest.raises(ConfigError, match=message + r"{validation_f1}, got {validation_auc} in"):
        began(tmp_path / "{val_auc}")
    assert names(tmp_path) == []


def test_a_figure_needs_validation_data(crews, tmp_path):
    listener = ModelCheckpoint(tmp_path / "{val_loss}")
    with pytest.raises(
        ConfigError, match=r"{validation_loss} in .*; give the fit validation data$"
    ):
        Network(CONF).fit(DATA, 1, workers=crews(2), listeners=[listener])
    assert names(tmp_path) == []


def test_figures_that_nobody_knew_before_are_refused_with_the_first_evaluation(tmp_path):
    listener = ModelCheckpoint(tmp_path / "{val_f2:.2f}")
    listener.on_fit_start(plan(conf=CONF, figures=None))
    epoch = EpochReport.of([report()], evaluated(loss=1.0, each=[1.0, 2.0]))
    message = re.escape("among {epoch}, {loss}, {validation_loss}, got {validation_f2} in")
    with pytest.raises(ConfigError, match=message):
        listener.on_epoch(epoch, state())
    assert names(tmp_path) == []


def test_the_path_of_the_first_epoch_must_be_free(tmp_path):
    (tmp_path / "m-1").mkdir()
    (tmp_path / "m-1/notes").write_text("keep")
    with pytest.raises(CheckpointError, match="m-1: not a sparkdl model"):
        began(tmp_path / "m-{epoch}")


def test_a_path_that_is_set_later_is_the_next_fits(tmp_path):
    listener = began(tmp_path / "one")
    listener.path = tmp_path / "two"
    listener.on_fit_start(plan(conf=CONF, figures=None))
    listener.on_epoch(EpochReport.of([report()], None), state())
    assert names(tmp_path) == ["two"]
