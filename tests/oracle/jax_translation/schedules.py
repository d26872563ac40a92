"""Learning rate schedules."""

from math import cos, exp, pi


def cycle(s, t):
    t, half = t % s.steps, (s.steps - s.annealing) // 2
    if t >= 2 * half:
        return s.initial * s.decay ** (t - (s.steps - s.annealing))
    share = t / half if t < half else (2 * half - t) / half
    return s.initial + (s.peak - s.initial) * share


def half_cosine(start, end, share):
    return start + (end - start) * (1 - cos(pi * share)) / 2


def cosine_restarts(s, t):
    start, length, top = 0, s.steps, s.initial - s.final
    while start + length <= t:
        start, length, top = start + length, length * s.steps_factor, top * s.rate_factor
    return half_cosine(s.final + top, s.final, (t - start) / length)


def sequential(s, t):
    start, chosen = [piece for piece in s.schedules if piece[0] <= t][-1]
    return rate_of(chosen, t - start, t - start)


def one_cycle(s, t):
    first, top = s.peak / s.div_factor, s.rise * s.steps
    if t < top:
        return half_cosine(first, s.peak, t / top)
    last = first / s.final_div_factor
    return half_cosine(s.peak, last, min((t - top) / (s.steps - top), 1))


def polynomial(s, t):
    return s.final + (s.initial - s.final) * max(0, 1 - t / s.steps) ** s.power


RULES = {
    "FixedSchedule": lambda s, t: s.initial,
    "StepSchedule": lambda s, t: s.initial * s.gamma ** (t // s.step),
    "MultiStepSchedule": lambda s, t: s.initial * s.gamma ** sum(step <= t for step in s.steps),
    "ExponentialSchedule": lambda s, t: s.initial * s.gamma**t,
    "InverseSchedule": lambda s, t: s.initial * (1 + s.gamma * t) ** -s.power,
    "PolynomialSchedule": polynomial,
    "SigmoidSchedule": lambda s, t: s.initial / (1 + exp(s.gamma * (t - s.step))),
    "CosineSchedule": lambda s, t: half_cosine(s.initial, s.final, min(t / s.steps, 1)),
    "CosineRestartsSchedule": cosine_restarts,
    "CycleSchedule": cycle,
    "OneCycleSchedule": one_cycle,
    "PiecewiseConstantSchedule": lambda s, t: [rate for start, rate in s.rates if start <= t][-1],
    "RampSchedule": lambda s, t: min(1, (t + 1) / s.steps),
    "SequentialSchedule": sequential,
    "WarmUpSchedule": lambda s, t: min(1, s.start + (1 - s.start) * t / s.steps),
}


def rate_of(rate, iteration, epoch):
    """Returns the rate, from a number or schedule, for an update and epoch counted from 0."""
    if isinstance(rate, float | int):
        return float(rate)
    name = rate.type_name
    value = RULES[name](rate, iteration if rate.per == "iteration" else epoch)
    return (
        value * rate_of(rate.then, iteration, epoch)
        if name in ("RampSchedule", "WarmUpSchedule")
        else value
    )
