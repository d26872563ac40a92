"""Schedules read from Keras's configs, against Keras's own rates."""

from functools import cache

import jax
import pytest

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras.optimizers import optimizer_of
from sparkdl.interop.keras.schedules import schedule_of
from sparkdl.interop.keras.writing.schedules import rate
from sparkdl.nn import schedules as ours
from tests.interop.keras.models import keras

K = keras.optimizers.schedules
STEPS = 30
SCHEDULES = {
    "exponential": K.ExponentialDecay(0.1, 7, 0.5),
    "exponential, by steps": K.ExponentialDecay(0.1, 7, 0.5, staircase=True),
    "inverse": K.InverseTimeDecay(0.1, 5, 0.7),
    "polynomial": K.PolynomialDecay(0.1, 12, 0.01, power=2.0),
    "polynomial, defaults": K.PolynomialDecay(0.1, 12),
    "cosine": K.CosineDecay(0.1, 15, alpha=0.1),
    "cosine after a warm-up": K.CosineDecay(0.01, 10, warmup_target=0.2, warmup_steps=5, alpha=0.1),
    "cosine after a warm-up from 0": K.CosineDecay(0.0, 10, warmup_target=0.2, warmup_steps=5),
    "cosine again and again": K.CosineDecayRestarts(0.1, 4, t_mul=1.5, m_mul=0.5, alpha=0.05),
    "cosine, defaults": K.CosineDecayRestarts(0.1, 4),
    "cosine of one length": K.CosineDecayRestarts(0.1, 4, t_mul=1.0),
    "cosine of whole floats": K.CosineDecay(0.1, 15.0),
    "pieces in a tuple": K.PiecewiseConstantDecay((3, 7), (0.1, 0.5, 0.01)),
    "growing by steps": K.ExponentialDecay(0.1, 7, 1.5, staircase=True),
    "pieces": K.PiecewiseConstantDecay([3, 7.5], [0.1, 0.5, 0.01]),
}


def rates(schedule):
    """Returns Keras's own rates, by one compiled program for all steps."""
    compiled = jax.jit(schedule)
    return [float(compiled(t)) for t in range(STEPS)]


@cache
def theirs_of(name):
    return rates(SCHEDULES[name])


def written(schedule):
    return K.serialize(schedule)


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_rates_are_those_of_keras(name):
    found = schedule_of(written(SCHEDULES[name]))
    given = [found.rate(t, 99) for t in range(STEPS)]
    assert given == pytest.approx(theirs_of(name), rel=2e-5, abs=1e-8)


@pytest.mark.parametrize("name", SCHEDULES)
def test_they_are_written_for_keras_again(name):
    back = K.deserialize(rate(schedule_of(written(SCHEDULES[name]))))
    assert rates(back) == pytest.approx(theirs_of(name), rel=2e-5, abs=1e-8)


UNWRITTEN = [
    ours.ExponentialSchedule(initial=0.1, gamma=0.5, per="epoch"),
    ours.InverseSchedule(initial=0.1, gamma=0.5, power=0.75),
    ours.WarmUpSchedule(steps=5, then=0.1),
    ours.PiecewiseConstantSchedule(rates=((0, 0.1),)),
    ours.SequentialSchedule(schedules=((0, 0.1), (5, 0.2))),
    ours.SequentialSchedule(  # a cosine from another rate
        schedules=(
            (0, ours.WarmUpSchedule(steps=5, then=0.1)),
            (5, ours.CosineSchedule(initial=0.2, steps=9)),
        )
    ),
]


@pytest.mark.parametrize("schedule", UNWRITTEN, ids=str)
def test_what_keras_has_not_is_refused(schedule):
    with pytest.raises(UnsupportedError, match=r"the schedule .* is not supported"):
        rate(schedule)


def test_an_optimizer_has_one_or_a_number():
    theirs = keras.optimizers.SGD(SCHEDULES["cosine"], momentum=0.9)
    found = optimizer_of(keras.optimizers.serialize(theirs), [])["optimizer"]
    assert found.learning_rate == ours.CosineSchedule(initial=0.1, steps=15, final=0.1 * 0.1)
    theirs = keras.optimizers.SGD(0.25)
    assert optimizer_of(keras.optimizers.serialize(theirs), [])["optimizer"].learning_rate == 0.25


REFUSED = {
    "grows": (K.ExponentialDecay(0.1, 7, 1.5), UnsupportedError, "decay_rate=1.5"),
    "starts below": (
        K.CosineDecay(0.3, 10, warmup_target=0.2, warmup_steps=5),
        UnsupportedError,
        "initial_learning_rate=0.3",
    ),
    "cycles": (K.PolynomialDecay(0.1, 12, cycle=True), UnsupportedError, "cycle=True"),
    "by steps": (K.InverseTimeDecay(0.1, 5, 0.7, staircase=True), UnsupportedError, "staircase"),
    "of no length": (
        {
            "class_name": "ExponentialDecay",
            "config": {"initial_learning_rate": 1, "decay_steps": 0},
        },
        UnsupportedError,
        "decay_steps=0",
    ),
    "pieces that do not fit": (
        {"class_name": "PiecewiseConstantDecay", "config": {"boundaries": [1], "values": [1]}},
        UnsupportedError,
        r"values=\[1\]",
    ),
    "pieces that are none": (
        {"class_name": "PiecewiseConstantDecay", "config": {"boundaries": ["a"], "values": [1, 2]}},
        UnsupportedError,
        "boundaries",
    ),
    "negative": (
        {"class_name": "CosineDecay", "config": {"initial_learning_rate": -1, "decay_steps": 3}},
        UnsupportedError,
        "initial_learning_rate=-1",
    ),
    "endless": (
        {
            "class_name": "ExponentialDecay",
            "config": {"initial_learning_rate": 1, "decay_steps": float("inf")},
        },
        UnsupportedError,
        "decay_steps=inf",
    ),
    "unknown": ({"class_name": "Noisy", "config": {}}, UnsupportedError, "the schedule Noisy"),
    "the user's": (
        {"class_name": "Mine", "module": "mine", "config": {}},
        UnsupportedError,
        "custom object",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_twin_is_refused(name):
    value, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        schedule_of(value if isinstance(value, dict) else written(value))
