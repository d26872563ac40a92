"""Learning rates against optax, and against Caffe's formulas by hand."""

import time
from decimal import Decimal, localcontext
from math import cos, exp, pi

import optax
import pytest

from sparkdl.errors import ConfigError, DivergedError
from sparkdl.nn.schedules import (
    CosineRestartsSchedule,
    CosineSchedule,
    CycleSchedule,
    ExponentialSchedule,
    FixedSchedule,
    InverseSchedule,
    MultiStepSchedule,
    OneCycleSchedule,
    PiecewiseConstantSchedule,
    PolynomialSchedule,
    RampSchedule,
    Schedule,
    SequentialSchedule,
    SigmoidSchedule,
    StepSchedule,
    WarmUpSchedule,
)
from tests.nn.examples import SCHEDULES
from tests.nn.support import label

# ours, theirs
OPTAX = [
    (FixedSchedule(initial=0.3), optax.constant_schedule(0.3)),
    (
        StepSchedule(initial=0.1, gamma=0.5, step=3),
        optax.exponential_decay(0.1, transition_steps=3, decay_rate=0.5, staircase=True),
    ),
    (
        MultiStepSchedule(initial=0.1, gamma=0.2, steps=(2, 7, 8)),
        optax.piecewise_constant_schedule(0.1, {2: 0.2, 7: 0.2, 8: 0.2}),
    ),
    (
        ExponentialSchedule(initial=0.1, gamma=0.9),
        optax.exponential_decay(0.1, transition_steps=1, decay_rate=0.9),
    ),
    (
        PolynomialSchedule(initial=0.1, steps=10, power=2.0, final=0.01),
        optax.polynomial_schedule(0.1, 0.01, power=2.0, transition_steps=10),
    ),
    (CosineSchedule(initial=0.1, steps=12), optax.cosine_decay_schedule(0.1, 12)),
    (
        CosineSchedule(initial=0.1, steps=12, final=0.02),
        optax.cosine_decay_schedule(0.1, 12, alpha=0.2),
    ),
    (
        CosineRestartsSchedule(initial=0.1, steps=3, steps_factor=2, rate_factor=0.5),
        optax.join_schedules(
            [optax.cosine_decay_schedule(0.1 * 0.5**i, 3 * 2**i) for i in range(3)], [3, 9]
        ),
    ),
    (
        CosineRestartsSchedule(initial=0.1, steps=7, final=0.02),
        optax.join_schedules([optax.cosine_decay_schedule(0.1, 7, 0.2)] * 3, [7, 14]),
    ),
    (
        SequentialSchedule(
            schedules=(
                (0, WarmUpSchedule(steps=4, then=0.1)),
                (4, CosineSchedule(initial=0.1, steps=8)),
                (15, 0.3),
            )
        ),
        optax.join_schedules(
            [
                optax.warmup_cosine_decay_schedule(0.0, 0.1, 4, 12),
                optax.constant_schedule(0.3),
            ],
            [15],
        ),
    ),
    (OneCycleSchedule(peak=0.1, steps=10), optax.cosine_onecycle_schedule(10, 0.1)),
    (
        OneCycleSchedule(peak=0.1, steps=16, rise=0.25, div_factor=5.0, final_div_factor=2.0),
        optax.cosine_onecycle_schedule(16, 0.1, 0.25, 5.0, 2.0),
    ),
    (
        PiecewiseConstantSchedule(rates=((0, 0.1), (3, 0.5), (11, 0.2))),
        optax.join_schedules([optax.constant_schedule(r) for r in (0.1, 0.5, 0.2)], [3, 11]),
    ),
    (RampSchedule(steps=5, then=0.1), optax.linear_schedule(0.02, 0.1, 4)),
    (WarmUpSchedule(steps=5, then=0.1), optax.linear_schedule(0.0, 0.1, 5)),
    (WarmUpSchedule(steps=4, then=0.2, start=0.25), optax.linear_schedule(0.05, 0.2, 4)),
]

# (schedule, t, rate), worked out by hand
CYCLE = CycleSchedule(initial=0.1, peak=0.5, steps=11, annealing=2, decay=0.5)
BY_HAND = [
    (CYCLE, 0, 0.1),
    (CYCLE, 3, 0.4),
    (CYCLE, 4, 0.5),
    (CYCLE, 7, 0.2),
    (CYCLE, 8, 0.2),  # the odd step that the halves leave over, as in DL4J: 0.1 / 0.5
    (CYCLE, 9, 0.1),
    (CYCLE, 10, 0.05),
    (CYCLE, 15, 0.5),
    (InverseSchedule(initial=0.01, gamma=1e-4, power=0.75), 0, 0.01),
    (InverseSchedule(initial=0.01, gamma=1e-4, power=0.75), 10_000, 0.01 * 2**-0.75),
    (SigmoidSchedule(initial=0.1, gamma=0.5, step=10), 10, 0.05),
    (SigmoidSchedule(initial=0.1, gamma=0.5, step=10), 14, 0.1 / (1 + exp(2))),
    (SigmoidSchedule(initial=0.1, gamma=5.0, step=1), 10**6, 0.0),
    (StepSchedule(initial=1.0, gamma=0.1, step=100), 99, 1.0),
    (StepSchedule(initial=1.0, gamma=0.1, step=100), 100, 0.1),
    (MultiStepSchedule(initial=1.0, gamma=0.5, steps=(5, 8)), 4, 1.0),
    (MultiStepSchedule(initial=1.0, gamma=0.5, steps=(5, 8)), 5, 0.5),
    (MultiStepSchedule(initial=1.0, gamma=0.5, steps=(5, 8)), 8, 0.25),
    (PolynomialSchedule(initial=1.0, steps=4), 100, 0.0),
    (OneCycleSchedule(peak=1.0, steps=5, rise=0.5, div_factor=10.0, final_div_factor=5.0), 0, 0.1),
    (OneCycleSchedule(peak=1.0, steps=5, rise=0.5, div_factor=10.0, final_div_factor=5.0), 5, 0.02),
    (PiecewiseConstantSchedule(rates=((0, 0.5), (4, 0.25))), 3, 0.5),
    (PiecewiseConstantSchedule(rates=((0, 0.5), (4, 0.25))), 4, 0.25),
    (RampSchedule(steps=1, then=0.5), 0, 0.5),
    (RampSchedule(steps=4, then=StepSchedule(initial=1.0, gamma=0.1, step=2)), 0, 0.25),
    (RampSchedule(steps=4, then=StepSchedule(initial=1.0, gamma=0.1, step=2)), 2, 0.75 * 0.1),
    (RampSchedule(steps=4, then=StepSchedule(initial=1.0, gamma=0.1, step=2)), 4, 0.01),
    (WarmUpSchedule(steps=4, then=StepSchedule(initial=1.0, gamma=0.1, step=2)), 3, 0.75 * 0.1),
    (WarmUpSchedule(steps=4, then=StepSchedule(initial=1.0, gamma=0.1, step=2)), 6, 0.001),
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


def restarted(steps, factor, t):
    """The height of a cosine with restarts in 50 digits, by the sum of the geometric series."""
    with localcontext() as context:
        context.prec = 50
        growth, left = Decimal(factor) - 1, Decimal(t)
        number = int((1 + left / steps * growth).ln() / Decimal(factor).ln())
        length = steps * Decimal(factor) ** number
        start = (length - steps) / growth
        return (1 + cos(pi * float((left - start) / length))) / 2


@pytest.mark.parametrize("steps, factor", [(1, 1 + 1e-7), (5, 1.001), (7, 1.3)])
def test_restarts_that_grow_slowly_are_as_quick_and_exact_as_others(steps, factor):
    """With the first factor 69 million rounds end within the first 1e10 steps."""
    schedule = CosineRestartsSchedule(initial=1, steps=steps, steps_factor=factor)
    begin = time.process_time()
    for t in (0, 3, 4999, 123457, 10**7 + 1, 10**10):
        assert schedule.rate(t, 0) == pytest.approx(restarted(steps, factor, t), abs=1e-4)
    assert schedule.rate(steps, 0) == 1
    assert time.process_time() - begin < 1.0


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_gives_a_plain_float(schedule):
    assert type(schedule.rate(3, 1)) is float


def test_counts_epochs_where_asked_to():
    schedule = StepSchedule(initial=1.0, gamma=0.5, step=2, per="epoch")
    assert [schedule.rate(1000, epoch) for epoch in range(5)] == [1, 1, 0.5, 0.5, 0.25]


def test_a_warm_up_in_iterations_leads_into_a_decay_in_epochs():
    decay = ExponentialSchedule(initial=1.0, gamma=0.5, per="epoch")
    schedule = WarmUpSchedule(steps=10, then=decay)
    assert schedule.rate(5, 1) == 0.25
    assert schedule.rate(10, 1) == 0.5


@pytest.mark.parametrize(
    "schedule",
    [
        StepSchedule(initial=0.1, gamma=10.0, step=1),
        MultiStepSchedule(initial=0.1, gamma=1e30, steps=(1, 2)),
        CycleSchedule(initial=0.1, peak=1, steps=1000, annealing=900, decay=10.0),
        WarmUpSchedule(steps=9, then=StepSchedule(initial=0.1, gamma=10.0, step=1)),
    ],
    ids=str,
)
def test_a_rate_above_all_numbers_is_named(schedule):
    with pytest.raises(DivergedError, match="Schedule has a rate that is too large for a number"):
        schedule.rate(999, 0)


REFUSED = [
    (lambda: FixedSchedule(initial=0), "FixedSchedule.initial must be a number above 0, got 0"),
    (
        lambda: FixedSchedule(initial=float("nan")),
        "FixedSchedule.initial must be a number above 0, got nan",
    ),
    (
        lambda: FixedSchedule(initial=float("inf")),
        "FixedSchedule.initial must be a number above 0, got inf",
    ),
    (
        lambda: FixedSchedule(initial=True),
        "FixedSchedule.initial must be a number above 0, got True",
    ),
    (lambda: FixedSchedule(initial=1, per="batch"), "must be 'iteration' or 'epoch', got 'batch'"),
    (lambda: StepSchedule(initial=1, step=0), "StepSchedule.step must be an integer >= 1, got 0"),
    (
        lambda: StepSchedule(initial=1, step=2.0),
        "StepSchedule.step must be an integer >= 1, got 2.0",
    ),
    (
        lambda: StepSchedule(initial=1, step=True),
        "StepSchedule.step must be an integer >= 1, got True",
    ),
    (
        lambda: StepSchedule(initial=1, step=1, gamma=0),
        "StepSchedule.gamma must be a number above 0, got 0",
    ),
    (
        lambda: MultiStepSchedule(initial=1, steps=[5, 2]),
        "MultiStepSchedule.steps must be growing integers >= 1, at least one, got (5, 2)",
    ),
    (
        lambda: MultiStepSchedule(initial=1, steps=[]),
        "steps must be a sequence of one or more integers >= 1, got []",
    ),
    (
        lambda: MultiStepSchedule(initial=1, steps=5),
        "steps must be a sequence of one or more integers >= 1, got 5",
    ),
    (lambda: MultiStepSchedule(initial=1, steps=[1], gamma=-1), "MultiStepSchedule.gamma must be"),
    (
        lambda: ExponentialSchedule(initial=1, gamma=1.5),
        "ExponentialSchedule.gamma must be a number in (0, 1]",
    ),
    (
        lambda: InverseSchedule(initial=1, gamma=-1),
        "InverseSchedule.gamma must be a number >= 0, got -1",
    ),
    (
        lambda: InverseSchedule(initial=1, gamma=1, power=-1),
        "InverseSchedule.power must be a number >= 0",
    ),
    (
        lambda: PolynomialSchedule(initial=1, steps=0),
        "PolynomialSchedule.steps must be an integer >= 1",
    ),
    (
        lambda: PolynomialSchedule(initial=1, steps=1, power=0),
        "PolynomialSchedule.power must be a number above 0",
    ),
    (
        lambda: PolynomialSchedule(initial=1, steps=1, final=-1),
        "PolynomialSchedule.final must be a number >= 0",
    ),
    (
        lambda: SigmoidSchedule(initial=1, gamma=0, step=1),
        "SigmoidSchedule.gamma must be a number above 0",
    ),
    (
        lambda: SigmoidSchedule(initial=1, gamma=1, step=0),
        "SigmoidSchedule.step must be an integer >= 1",
    ),
    (
        lambda: CosineSchedule(initial=1, steps=1.5),
        "CosineSchedule.steps must be an integer >= 1, got 1.5",
    ),
    (
        lambda: CosineSchedule(initial=1, steps=1, final=-1),
        "CosineSchedule.final must be a number >= 0, got -1",
    ),
    (
        lambda: OneCycleSchedule(peak=0, steps=5),
        "OneCycleSchedule.peak must be a number above 0, got 0",
    ),
    (
        lambda: CycleSchedule(initial=1, peak=0.5, steps=9),
        "peak must be a number not below initial (1)",
    ),
    (
        lambda: CycleSchedule(initial=1, peak=2, steps=3, annealing=2),
        "steps must be an integer >= 4",
    ),
    (
        lambda: CycleSchedule(initial=1, peak=2, steps=9, annealing=-1),
        "annealing must be an integer >= 0",
    ),
    (
        lambda: CycleSchedule(initial=1, peak=2, steps=9, decay=0),
        "CycleSchedule.decay must be a number above 0",
    ),
    (
        lambda: OneCycleSchedule(peak=1, steps=1),
        "OneCycleSchedule.steps must be an integer >= 2, got 1",
    ),
    (
        lambda: OneCycleSchedule(peak=1, steps=5, rise=1),
        "OneCycleSchedule.rise must be a number in (0, 1), got 1",
    ),
    (
        lambda: OneCycleSchedule(peak=1, steps=5, rise=0.0),
        "OneCycleSchedule.rise must be a number in (0, 1), got 0.0",
    ),
    (
        lambda: OneCycleSchedule(peak=1, steps=5, div_factor=0),
        "OneCycleSchedule.div_factor must be a number above",
    ),
    (
        lambda: OneCycleSchedule(peak=1, steps=5, final_div_factor=-1),
        "OneCycleSchedule.final_div_factor must be",
    ),
    (
        lambda: PiecewiseConstantSchedule(rates=[[1, 0.1]]),
        "must be pairs (start, rate above 0), starts growing from 0, got ((1, 0.1),)",
    ),
    (
        lambda: PiecewiseConstantSchedule(rates=[]),
        "must be a sequence of one or more rows (an integer",
    ),
    (
        lambda: PiecewiseConstantSchedule(rates=0.1),
        "rows (an integer >= 0, a number above 0), got 0.1",
    ),
    (
        lambda: PiecewiseConstantSchedule(rates=[0, 1]),
        "rates[0] must be (an integer >= 0, a number above",
    ),
    (
        lambda: PiecewiseConstantSchedule(rates=[[0, 0]]),
        "rates[0][1] must be a number above 0, got 0",
    ),
    (
        lambda: PiecewiseConstantSchedule(rates=[[0, 1], [5, 1], [5, 2]]),
        "starts growing from 0, got",
    ),
    (
        lambda: SequentialSchedule(schedules=((1, 0.1),)),
        "SequentialSchedule.schedules must be pairs (start, schedule), starts growing from 0",
    ),
    (
        lambda: SequentialSchedule(schedules=((0, FixedSchedule(initial=1, per="epoch")),)),
        "SequentialSchedule.schedules must be pairs (start, schedule) with per='iteration'",
    ),
    (
        lambda: SequentialSchedule(
            schedules=((0, WarmUpSchedule(steps=9, then=FixedSchedule(initial=1, per="epoch"))),)
        ),
        "SequentialSchedule.schedules must be pairs (start, schedule) with per='iteration'",
    ),
    (
        lambda: SequentialSchedule(schedules=((0, -1.0),)),
        "SequentialSchedule.schedules[0][1] must be a number above 0 or a Schedule",
    ),
    (
        lambda: CosineRestartsSchedule(initial=1, steps=3, steps_factor=0.5),
        "CosineRestartsSchedule.steps_factor must be a number >= 1, got 0.5",
    ),
    (lambda: RampSchedule(steps=0, then=1), "RampSchedule.steps must be an integer >= 1, got 0"),
    (
        lambda: RampSchedule(steps=1, then=0),
        "RampSchedule.then must be a number above 0 or a Schedule, got 0",
    ),
    (
        lambda: WarmUpSchedule(steps=0, then=1),
        "WarmUpSchedule.steps must be an integer >= 1, got 0",
    ),
    (
        lambda: WarmUpSchedule(steps=1, then=-1),
        "WarmUpSchedule.then must be a number above 0 or a Schedule",
    ),
    (
        lambda: WarmUpSchedule(steps=1, then=1, start=1),
        "WarmUpSchedule.start must be a number in [0, 1), got 1",
    ),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=label)
def test_refuses(make, message):
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)
