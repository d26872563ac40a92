"""Learning rates against optax, and against Caffe's formulas by hand."""

from math import exp

import optax
import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn.schedules import (
    Cosine,
    Cycle,
    Exponential,
    Fixed,
    Inverse,
    MultiStep,
    OneCycle,
    PiecewiseConstant,
    Polynomial,
    Ramp,
    Schedule,
    Sigmoid,
    Step,
    WarmUp,
)
from tests.nn.examples import SCHEDULES
from tests.nn.support import label

# ours, theirs
OPTAX = [
    (Fixed(initial=0.3), optax.constant_schedule(0.3)),
    (
        Step(initial=0.1, gamma=0.5, step=3),
        optax.exponential_decay(0.1, transition_steps=3, decay_rate=0.5, staircase=True),
    ),
    (
        MultiStep(initial=0.1, gamma=0.2, steps=(2, 7, 8)),
        optax.piecewise_constant_schedule(0.1, {2: 0.2, 7: 0.2, 8: 0.2}),
    ),
    (
        Exponential(initial=0.1, gamma=0.9),
        optax.exponential_decay(0.1, transition_steps=1, decay_rate=0.9),
    ),
    (
        Polynomial(initial=0.1, steps=10, power=2.0, final=0.01),
        optax.polynomial_schedule(0.1, 0.01, power=2.0, transition_steps=10),
    ),
    (Cosine(initial=0.1, steps=12), optax.cosine_decay_schedule(0.1, 12)),
    (Cosine(initial=0.1, steps=12, final=0.02), optax.cosine_decay_schedule(0.1, 12, alpha=0.2)),
    (OneCycle(peak=0.1, steps=10), optax.cosine_onecycle_schedule(10, 0.1)),
    (
        OneCycle(peak=0.1, steps=16, rise=0.25, div_factor=5.0, final_div_factor=2.0),
        optax.cosine_onecycle_schedule(16, 0.1, 0.25, 5.0, 2.0),
    ),
    (
        PiecewiseConstant(rates=((0, 0.1), (3, 0.5), (11, 0.2))),
        optax.join_schedules([optax.constant_schedule(r) for r in (0.1, 0.5, 0.2)], [3, 11]),
    ),
    (Ramp(steps=5, then=0.1), optax.linear_schedule(0.02, 0.1, 4)),
    (WarmUp(steps=5, then=0.1), optax.linear_schedule(0.0, 0.1, 5)),
    (WarmUp(steps=4, then=0.2, start=0.25), optax.linear_schedule(0.05, 0.2, 4)),
]

# (schedule, t, rate), worked out by hand
CYCLE = Cycle(initial=0.1, peak=0.5, steps=11, annealing=2, decay=0.5)
BY_HAND = [
    (CYCLE, 0, 0.1),
    (CYCLE, 3, 0.4),
    (CYCLE, 4, 0.5),
    (CYCLE, 7, 0.2),
    (CYCLE, 8, 0.2),  # the step over that halves leave, as in DL4J: 0.1 / 0.5
    (CYCLE, 9, 0.1),
    (CYCLE, 10, 0.05),
    (CYCLE, 15, 0.5),
    (Inverse(initial=0.01, gamma=1e-4, power=0.75), 0, 0.01),
    (Inverse(initial=0.01, gamma=1e-4, power=0.75), 10_000, 0.01 * 2**-0.75),
    (Sigmoid(initial=0.1, gamma=0.5, step=10), 10, 0.05),
    (Sigmoid(initial=0.1, gamma=0.5, step=10), 14, 0.1 / (1 + exp(2))),
    (Sigmoid(initial=0.1, gamma=5.0, step=1), 10**6, 0.0),
    (Step(initial=1.0, gamma=0.1, step=100), 99, 1.0),
    (Step(initial=1.0, gamma=0.1, step=100), 100, 0.1),
    (MultiStep(initial=1.0, gamma=0.5, steps=(5, 8)), 4, 1.0),
    (MultiStep(initial=1.0, gamma=0.5, steps=(5, 8)), 5, 0.5),
    (MultiStep(initial=1.0, gamma=0.5, steps=(5, 8)), 8, 0.25),
    (Polynomial(initial=1.0, steps=4), 100, 0.0),
    (OneCycle(peak=1.0, steps=5, rise=0.5, div_factor=10.0, final_div_factor=5.0), 0, 0.1),
    (OneCycle(peak=1.0, steps=5, rise=0.5, div_factor=10.0, final_div_factor=5.0), 5, 0.02),
    (PiecewiseConstant(rates=((0, 0.5), (4, 0.25))), 3, 0.5),
    (PiecewiseConstant(rates=((0, 0.5), (4, 0.25))), 4, 0.25),
    (Ramp(steps=1, then=0.5), 0, 0.5),
    (Ramp(steps=4, then=Step(initial=1.0, gamma=0.1, step=2)), 0, 0.25),
    (Ramp(steps=4, then=Step(initial=1.0, gamma=0.1, step=2)), 2, 0.75 * 0.1),
    (Ramp(steps=4, then=Step(initial=1.0, gamma=0.1, step=2)), 4, 0.01),
    (WarmUp(steps=4, then=Step(initial=1.0, gamma=0.1, step=2)), 3, 0.75 * 0.1),
    (WarmUp(steps=4, then=Step(initial=1.0, gamma=0.1, step=2)), 6, 0.001),
]


def test_every_schedule_is_compared():
    compared = {type(ours) for ours, *_ in OPTAX + BY_HAND}
    assert compared == set(Schedule.members.values())


@pytest.mark.parametrize("ours, theirs", OPTAX, ids=[str(ours) for ours, _ in OPTAX])
def test_equals_optax(ours, theirs, x64):
    for t in range(20):
        assert ours.rate(t, 99) == pytest.approx(float(theirs(t)), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("schedule, t, rate", BY_HAND, ids=str)
def test_equals_the_value_worked_out_by_hand(schedule, t, rate):
    assert schedule.rate(t, 0) == pytest.approx(rate, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_gives_a_plain_float(schedule):
    assert type(schedule.rate(3, 1)) is float


def test_counts_epochs_where_asked_to():
    schedule = Step(initial=1.0, gamma=0.5, step=2, per="epoch")
    assert [schedule.rate(1000, epoch) for epoch in range(5)] == [1, 1, 0.5, 0.5, 0.25]


def test_a_warm_up_in_iterations_leads_into_a_decay_in_epochs():
    decay = Exponential(initial=1.0, gamma=0.5, per="epoch")
    schedule = WarmUp(steps=10, then=decay)
    assert schedule.rate(5, 1) == 0.25
    assert schedule.rate(10, 1) == 0.5


REFUSED = [
    (lambda: Fixed(initial=0), "Fixed.initial must be a number above 0, got 0"),
    (lambda: Fixed(initial=float("nan")), "Fixed.initial must be a number above 0, got nan"),
    (lambda: Fixed(initial=float("inf")), "Fixed.initial must be a number above 0, got inf"),
    (lambda: Fixed(initial=True), "Fixed.initial must be a number above 0, got True"),
    (lambda: Fixed(initial=1, per="batch"), "must be 'iteration' or 'epoch', got 'batch'"),
    (lambda: Step(initial=1, step=0), "Step.step must be an integer >= 1, got 0"),
    (lambda: Step(initial=1, step=2.0), "Step.step must be an integer >= 1, got 2.0"),
    (lambda: Step(initial=1, step=True), "Step.step must be an integer >= 1, got True"),
    (lambda: Step(initial=1, step=1, gamma=0), "Step.gamma must be a number above 0, got 0"),
    (
        lambda: MultiStep(initial=1, steps=[5, 2]),
        "MultiStep.steps must be growing integers >= 1, at least one, got (5, 2)",
    ),
    (
        lambda: MultiStep(initial=1, steps=[]),
        "steps must be a sequence of one or more integers >= 1, got []",
    ),
    (
        lambda: MultiStep(initial=1, steps=5),
        "steps must be a sequence of one or more integers >= 1, got 5",
    ),
    (lambda: MultiStep(initial=1, steps=[1], gamma=-1), "MultiStep.gamma must be"),
    (lambda: Exponential(initial=1, gamma=1.5), "Exponential.gamma must be a number in (0, 1]"),
    (lambda: Inverse(initial=1, gamma=-1), "Inverse.gamma must be a number >= 0, got -1"),
    (lambda: Inverse(initial=1, gamma=1, power=-1), "Inverse.power must be a number >= 0"),
    (lambda: Polynomial(initial=1, steps=0), "Polynomial.steps must be an integer >= 1"),
    (lambda: Polynomial(initial=1, steps=1, power=0), "Polynomial.power must be a number above 0"),
    (lambda: Polynomial(initial=1, steps=1, final=-1), "Polynomial.final must be a number >= 0"),
    (lambda: Sigmoid(initial=1, gamma=0, step=1), "Sigmoid.gamma must be a number above 0"),
    (lambda: Sigmoid(initial=1, gamma=1, step=0), "Sigmoid.step must be an integer >= 1"),
    (lambda: Cosine(initial=1, steps=1.5), "Cosine.steps must be an integer >= 1, got 1.5"),
    (lambda: Cosine(initial=1, steps=1, final=-1), "Cosine.final must be a number >= 0, got -1"),
    (lambda: OneCycle(peak=0, steps=5), "OneCycle.peak must be a number above 0, got 0"),
    (lambda: Cycle(initial=1, peak=0.5, steps=9), "peak must be a number not below initial (1)"),
    (lambda: Cycle(initial=1, peak=2, steps=3, annealing=2), "steps must be an integer >= 4"),
    (lambda: Cycle(initial=1, peak=2, steps=9, annealing=-1), "annealing must be an integer >= 0"),
    (lambda: Cycle(initial=1, peak=2, steps=9, decay=0), "Cycle.decay must be a number above 0"),
    (lambda: OneCycle(peak=1, steps=1), "OneCycle.steps must be an integer >= 2, got 1"),
    (lambda: OneCycle(peak=1, steps=5, rise=1), "OneCycle.rise must be a number in (0, 1), got 1"),
    (
        lambda: OneCycle(peak=1, steps=5, rise=0.0),
        "OneCycle.rise must be a number in (0, 1), got 0.0",
    ),
    (lambda: OneCycle(peak=1, steps=5, div_factor=0), "OneCycle.div_factor must be a number above"),
    (lambda: OneCycle(peak=1, steps=5, final_div_factor=-1), "OneCycle.final_div_factor must be"),
    (
        lambda: PiecewiseConstant(rates=[[1, 0.1]]),
        "must be pairs (start, rate above 0), starts growing from 0, got ((1, 0.1),)",
    ),
    (lambda: PiecewiseConstant(rates=[]), "must be a sequence of one or more rows (an integer"),
    (lambda: PiecewiseConstant(rates=0.1), "rows (an integer >= 0, a number above 0), got 0.1"),
    (lambda: PiecewiseConstant(rates=[0, 1]), "rates[0] must be (an integer >= 0, a number above"),
    (lambda: PiecewiseConstant(rates=[[0, 0]]), "rates[0][1] must be a number above 0, got 0"),
    (lambda: PiecewiseConstant(rates=[[0, 1], [5, 1], [5, 2]]), "starts growing from 0, got"),
    (lambda: Ramp(steps=0, then=1), "Ramp.steps must be an integer >= 1, got 0"),
    (lambda: Ramp(steps=1, then=0), "Ramp.then must be a number above 0 or a Schedule, got 0"),
    (lambda: WarmUp(steps=0, then=1), "WarmUp.steps must be an integer >= 1, got 0"),
    (lambda: WarmUp(steps=1, then=-1), "WarmUp.then must be a number above 0 or a Schedule"),
    (lambda: WarmUp(steps=1, then=1, start=1), "WarmUp.start must be a number in [0, 1), got 1"),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=label)
def test_refuses(make, message):
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)
