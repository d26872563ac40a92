"""Listeners that monitor a figure: when they stop a fit, lower its rates, or save a model."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.errors import CheckpointError, ConfigError
from sparkdl.nn import Sgd
from sparkdl.training.network import Network, first_state
from sparkdl.training.reporting.early_stopping import EarlyStopping
from sparkdl.training.reporting.lambda_listener import LambdaListener
from sparkdl.training.reporting.monitor import Monitor
from sparkdl.training.reporting.reduce_rate import ReduceLROnPlateau
from sparkdl.training.reporting.reports import EpochReport
from sparkdl.training.reporting.steering import Steering, StopTraining
from sparkdl.training.saving.model_checkpoint import ModelCheckpoint
from tests.training.models import assert_equal
from tests.training.problems import perceptron
from tests.training.reports import plan, report, state

NAN = float("nan")
CONF = perceptron(optimizer=Sgd(learning_rate=0.4))


def hear(listener, losses, conf=CONF):
    """Sends epochs with these losses to a listener; returns (epoch of its stop, rate of each)."""
    steering, rates = Steering(), []
    listener.on_fit_start(plan(conf=conf, steering=steering, figures=("loss",)))
    for epoch, loss in enumerate(losses):
        rates.append(0.4 * steering.rate_factor)
        try:
            listener.on_epoch(EpochReport.of([report(epoch, loss=loss)]), state(epoch=epoch + 1))
        except StopTraining:
            return epoch, rates
    return None, rates


# From the documentation and tests of keras.callbacks: losses, options, last epoch.
STOPS = {
    "at once": ([1.0, 1.0], {}, 1),
    "never": ([3.0, 2.0, 1.0], {}, None),
    "patience": ([1.0, 0.9, 0.95, 0.96, 0.97], {"patience": 2}, 3),
    "patience starts anew": ([1.0, 1.1, 0.9, 1.0, 0.8, 0.9, 0.9], {"patience": 2}, 6),
    "a change that is too small": ([1.0, 0.95, 0.91, 0.9], {"min_delta": 0.1, "patience": 2}, 2),
    "small changes that add up": ([1.0, 0.95, 0.89, 0.9], {"min_delta": 0.1, "patience": 2}, None),
    "more is better": ([1.0, 2.0, 1.5], {"mode": "max"}, 2),
    "a baseline that is not beaten": ([0.9, 0.8, 0.7], {"baseline": 0.5, "patience": 2}, None),
    "no better, and above the baseline": ([0.9, 0.8, 0.8], {"baseline": 0.5, "patience": 2}, 2),
    "below the baseline": ([0.4, 0.45, 0.46], {"baseline": 0.5, "patience": 2}, 2),
    "a later start": ([1.0, 2.0, 3.0, 4.0], {"start_from_epoch": 2}, 3),
    "no number": ([1.0, NAN, 2.0], {"patience": 2}, 2),
    "no number at first": ([NAN, 1.0, 0.5, 2.0], {"patience": 1}, 3),
    "never a number, no patience": ([NAN] * 9, {}, 1),
    "never a number, patience": ([NAN] * 9, {"patience": 1}, 1),
    "never a number, more patience": ([NAN] * 9, {"patience": 3}, 3),
    "never a number, a later start": ([NAN] * 9, {"patience": 1, "start_from_epoch": 2}, 3),
}


@pytest.mark.parametrize("losses, options, last", STOPS.values(), ids=list(STOPS))
def test_early_stopping_is_keras_s(losses, options, last):
    stopping = EarlyStopping("loss", **options)
    assert hear(stopping, losses)[0] == last == stopping.stopped_epoch
    assert hear(stopping, losses)[0] == last, "a listener may follow several fits"


def test_one_early_stopping_of_a_fit_restores_the_best_weights():
    """The best weights of two metrics are two: those of the listener that chose last were kept."""
    steering = Steering()
    first, second = (EarlyStopping("loss", restore_best_weights=True) for _ in range(2))
    for listener in (first, first, EarlyStopping("loss")):
        listener.on_fit_start(plan(conf=CONF, steering=steering, figures=("loss",)))
    with pytest.raises(ConfigError, match="restore_best_weights must be True in one listener"):
        second.on_fit_start(plan(conf=CONF, steering=steering, figures=("loss",)))


# Epochs after which torch 2.15's ReduceLROnPlateau halved a rate of 0.4 for these losses, with
# `patience` and `cooldown` lower by one, as torch counts one evaluation more than Keras does.
HALVED = {
    ("min", 1, 0): [1, 2, 4, 5, 6, 7],
    ("min", 1, 2): [1, 4, 6, 8, 10, 12],
    ("min", 2, 1): [5, 7, 9, 11, 13, 15],
    ("min", 2, 4): [5, 10, 15, 20, 25, 30],
    ("min", 5, 2): [7, 13],
    ("max", 1, 1): [3, 4, 5, 6, 12, 13],
    ("max", 1, 4): [3, 12, 16, 20, 24, 28],
    ("max", 2, 2): [2, 5, 12, 15, 18, 21],
    ("max", 5, 0): [15, 20, 25, 30, 35, 40],
    ("max", 5, 4): [15, 23, 31, 39, 47, 55],
}


@pytest.mark.parametrize("case", HALVED, ids=str)
def test_rates_are_torch_s(case):
    mode, patience, cooldown = case
    losses = np.random.default_rng(patience).normal(size=60).cumsum().round(1).tolist()
    options = {"factor": 0.5, "min_lr": 0.01, "patience": patience, "cooldown": cooldown}
    _, rates = hear(ReduceLROnPlateau("loss", mode=mode, **options), [10 + x for x in losses])
    assert [epoch for epoch in range(59) if rates[epoch + 1] < rates[epoch]] == HALVED[case]
    assert rates[-1] == pytest.approx(max(0.01, 0.4 * 0.5 ** len(HALVED[case])))


def test_rates_do_not_become_0():
    _, rates = hear(ReduceLROnPlateau("loss", factor=1e-200, patience=1), [1.0] * 9)
    assert 0 < rates[-1] < 1e-190


DIRECTIONS = {
    "loss": False,
    "validation loss": False,
    "validation accuracy": True,
    "validation top_5": True,
    "validation r2": True,
    "validation rmse": False,
    "validation 1/accuracy": True,
}


@pytest.mark.parametrize("monitor, more", DIRECTIONS.items(), ids=list(DIRECTIONS))
def test_which_way_is_better(monitor, more):
    assert Monitor(monitor).larger_is_better == more
    assert Monitor(monitor, mode="max").larger_is_better
    assert not Monitor(monitor, mode="min").larger_is_better


@pytest.mark.parametrize("best_only", [True, False], ids=["the best", "the newest"])
def test_one_model_is_on_disk(best_only, tmp_path):
    writer = ModelCheckpoint(tmp_path / "model", "loss", save_best_only=best_only)
    writer.on_fit_start(plan(conf=CONF, figures=("loss",)))
    states = [first_state(perceptron(seed=epoch)) for epoch in range(3)]
    for epoch, loss in enumerate([2.0, 1.0, 1.5]):
        writer.on_epoch(EpochReport.of([report(epoch, loss=loss)]), states[epoch])
    assert_equal(Network.load(tmp_path / "model").state, states[1 if best_only else 2])


def test_the_model_on_disk_has_the_rates_that_a_fit_would_go_on_with(tmp_path):
    writer, started = ModelCheckpoint(tmp_path / "model"), plan(conf=CONF)
    writer.on_fit_start(started)
    started.steering.rate_factor = 0.25
    writer.on_epoch(EpochReport.of([report()]), first_state(CONF))
    assert Network.load(tmp_path / "model").state.rate_factor == 0.25


OCCUPIED = {
    "a folder of others": ("runs", "runs: not a sparkdl model, it has no manifest.json"),
    "a file": ("runs/notes", "notes: not a sparkdl model"),
    "below a file": ("runs/notes/model", "notes/model: cannot be written, .*notes is a file"),
}


@pytest.mark.parametrize("name", OCCUPIED)
@pytest.mark.parametrize("best_only", [True, False])
def test_a_path_that_cannot_have_a_model_is_refused_before_the_first(name, best_only, tmp_path):
    path, message = OCCUPIED[name]
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/notes").write_text("keep")
    writer = ModelCheckpoint(tmp_path / path, "loss", save_best_only=best_only)
    with pytest.raises(CheckpointError, match=message):
        writer.on_fit_start(plan(conf=CONF, figures=("loss",)))
    ModelCheckpoint(tmp_path / "{3F25-04E0}/new").on_fit_start(plan(conf=CONF))
    assert [one.name for one in tmp_path.rglob("*")] == ["runs", "notes"]


def test_a_figure_that_an_evaluation_does_not_have_is_refused():
    listener = EarlyStopping("validation f2")
    listener.on_fit_start(plan(figures=None))
    evaluation = SimpleNamespace(figures=lambda: {"loss": 1.0, "each": [1.0, 2.0]})
    with pytest.raises(ConfigError, match=r"be one of \['loss', 'validation loss'\], got 'valid"):
        listener.on_validation(SimpleNamespace(validation=evaluation), state())


REFUSED = [
    (lambda: EarlyStopping(3), "EarlyStopping.monitor must be the name of a figure, got 3"),
    (lambda: EarlyStopping(mode="less"), "mode must be one of"),
    (lambda: EarlyStopping(min_delta=-1), "min_delta must be a number >= 0, got -1"),
    (lambda: EarlyStopping(patience=1.5), "patience must be an integer >= 0, got 1.5"),
    (lambda: EarlyStopping(baseline="low"), "baseline must be a number or None"),
    (lambda: EarlyStopping(baseline=NAN), "baseline must be a number or None, got nan"),
    (lambda: ReduceLROnPlateau(factor=1), r"factor must be a number in \(0, 1\), got 1"),
    (lambda: ReduceLROnPlateau(cooldown=-1), "cooldown must be an integer >= 0, got -1"),
    (lambda: ReduceLROnPlateau(min_lr=-1), "min_lr must be a number >= 0, got -1"),
    (lambda: ModelCheckpoint(3), "ModelCheckpoint.path must be a path, got 3"),
    (lambda: ModelCheckpoint("m-{epoch:.2d}"), "formats of numbers, got 'm-{epoch:.2d}': Precis"),
    (lambda: ModelCheckpoint(Path("m/{val_loss:d}")), "path must have formats of numbers, got"),
    (lambda: LambdaListener(on_epoch=3), "LambdaListener.on_epoch must be a function, got 3"),
    (lambda: setattr(Steering(), "rate_factor", 0), "rate_factor must be a number > 0, got 0"),
]


@pytest.mark.parametrize("make, text", REFUSED, ids=[text for _, text in REFUSED])
def test_options_that_cannot_be_are_refused(make, text):
    with pytest.raises(ConfigError, match=text):
        make()
