"""Listeners that end a fit at a target, above a limit of the loss, or when its time is up."""

import pytest

from sparkdl.errors import ConfigError
from sparkdl.training.reporting.reports import EpochReport
from sparkdl.training.reporting.steering import StopTraining
from sparkdl.training.reporting.termination import (
    TerminateOnMaxLoss,
    TerminateOnTarget,
    TerminateOnTime,
)
from tests.training.reports import plan, report, state

NAN = float("nan")

# {name: (losses of epochs, target, options, the epoch that ends the fit)}; as in DL4J's
# BestScoreEpochTerminationCondition, minimizing: target >= score; maximizing: target <= score.
TARGETS = {
    "reached": ([1.0, 0.6, 0.4, 0.3], 0.5, {}, 2),
    "exactly": ([1.0, 0.5, 0.4], 0.5, {}, 1),
    "at once": ([0.4, 0.3], 0.5, {}, 0),
    "never": ([1.0, 0.6, 0.51], 0.5, {}, None),
    "a loss below 0": ([0.0, -1.0, -2.5], -2, {}, 2),
    "more is better": ([0.1, 0.7, 0.8], 0.7, {"mode": "max"}, 1),
    "more is better, never": ([0.6, 0.1], 0.7, {"mode": "max"}, None),
    "less is better, by word": ([0.6, 0.1], 0.2, {"mode": "min"}, 1),
    "no number": ([NAN, 0.4], 0.5, {}, 1),
}


def last_epoch(listener, losses):
    """Sends epochs with these losses to a listener; returns (number, reason) of its stop."""
    listener.on_fit_start(plan(figures=("loss",)))
    for epoch, loss in enumerate(losses):
        try:
            listener.on_epoch(EpochReport.of([report(epoch, loss=loss)]), state(epoch=epoch + 1))
        except StopTraining as stop:
            return epoch, str(stop)
    return None, None


@pytest.mark.parametrize("losses, target, options, last", TARGETS.values(), ids=list(TARGETS))
def test_a_target_is_dl4j_s(losses, target, options, last):
    listener = TerminateOnTarget(target, "loss", **options)
    assert last_epoch(listener, losses)[0] == last
    assert last_epoch(listener, losses)[0] == last, "a listener may follow several fits"


def test_the_reason_names_figure_and_target():
    reason = last_epoch(TerminateOnTarget(0.5, "loss"), [0.4375])[1]
    assert reason == "loss 0.4375 is as good as the target 0.5"


# {name: (losses of rounds, limit, the round that ends the fit)}; as in DL4J's
# MaxScoreIterationTerminationCondition: score > limit.
LIMITS = {
    "exceeded": ([2.0, 1.0, 3.5, 9.0], 3.0, 2),
    "exactly": ([3.0, 3.0], 3.0, None),
    "never": ([2.0, 1.0], 3, None),
    "a limit below 0": ([-3.0, -1.0], -2.0, 1),
}


@pytest.mark.parametrize("losses, limit, last", LIMITS.values(), ids=list(LIMITS))
def test_a_limit_is_dl4j_s(losses, limit, last):
    listener, reasons = TerminateOnMaxLoss(limit), {}
    listener.on_fit_start(plan())
    for round, loss in enumerate(losses):
        try:
            listener.on_round(report(0, round, loss=loss), None)
        except StopTraining as stop:
            reasons[round] = str(stop)
    assert min(reasons, default=None) == last
    if last is not None:
        assert reasons[last] == f"loss {losses[last]:g} exceeds {limit:g}"


def test_a_target_is_that_of_a_known_figure():
    for monitor, message in {
        "val_loss": r"TerminateOnTarget.monitor must be one of \['loss', 'validation f2'\]",
        "validation f2": "TerminateOnTarget.mode must be 'min' or 'max' for 'validation f2'",
    }.items():
        listener = TerminateOnTarget(0.5, monitor)
        with pytest.raises(ConfigError, match=message):
            listener.on_fit_start(plan(figures=("loss", "validation f2"), metrics=("f2",)))


REFUSED = {
    "TerminateOnTarget.target must be a number, got 'low'": lambda: TerminateOnTarget("low"),
    "TerminateOnTarget.target must be a number, got nan": lambda: TerminateOnTarget(NAN),
    "TerminateOnTarget.target must be a number, got True": lambda: TerminateOnTarget(True),
    "TerminateOnTarget.mode must be one of": lambda: TerminateOnTarget(0.5, mode="less"),
    "TerminateOnTarget has no option 'metric'; did you mean 'monitor'": lambda: TerminateOnTarget(
        0.5, metric="loss"
    ),
    "TerminateOnMaxLoss.max_loss must be a number, got None": lambda: TerminateOnMaxLoss(None),
    "TerminateOnMaxLoss.max_loss must be a number, got nan": lambda: TerminateOnMaxLoss(NAN),
    "TerminateOnTime.seconds must be a number > 0, got 0": lambda: TerminateOnTime(0),
}


@pytest.mark.parametrize("message", REFUSED)
def test_options_that_cannot_be_are_refused(message):
    with pytest.raises(ConfigError, match=f"^{message}"):
        REFUSED[message]()
