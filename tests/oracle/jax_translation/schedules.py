"""Learning rates over time."""

from math import cos, exp, pi


def cycle(s, t):
    t, half = t % s.steps, (s.steps - s.annealing) // 2
    if t >= 2 * half:
        return s.initial * s.decay ** (t - (s.steps - s.annealing))
    share = t / half if t < half else (2 * half - t) / half
    return s.initial + (s.peak - s.initial) * share


def half_cosine(start, end, share):
    return start + (end - start) * (1 - cos(pi * share)) / 2


def one_cycle(s, t):
    first, top = s.peak / s.div_factor, s.rise * s.steps
    if t < top:
        return half_cosine(first, s.peak, t / top)
    last = first / s.final_div_factor
    return half_cosine(s.peak, last, min((t - top) / (s.steps - top), 1))


def polynomial(s, t):
    return s.final + (s.initial - s.final) * max(0, 1 - t / s.steps) ** s.power


RULES = {
    "Fixed": lambda s, t: s.initial,
    "Step": lambda s, t: s.initial * s.gamma ** (t // s.step),
    "MultiStep": lambda s, t: s.initial * s.gamma ** sum(step <= t for step in s.steps),
    "Exponential": lambda s, t: s.initial * s.gamma**t,
    "Inverse": lambda s, t: s.initial * (1 + s.gamma * t) ** -s.power,
    "Polynomial": polynomial,
    "Sigmoid": lambda s, t: s.initial / (1 + exp(s.gamma * (t - s.step))),
    "Cosine": lambda s, t: half_cosine(s.initial, s.final, min(t / s.steps, 1)),
    "Cycle": cycle,
    "OneCycle": one_cycle,
    "PiecewiseConstant": lambda s, t: [rate for start, rate in s.rates if start <= t][-1],
    "Ramp": lambda s, t: min(1, (t + 1) / s.steps),
    "WarmUp": lambda s, t: min(1, s.start + (1 - s.start) * t / s.steps),
}


def rate_of(rate, iteration, epoch):
    """The learning rate, a number or a schedule, of an update from 0 in an epoch from 0."""
    if isinstance(rate, float | int):
        return float(rate)
    name = rate.type_name
    value = RULES[name](rate, iteration if rate.per == "iteration" else epoch)
    return value * rate_of(rate.then, iteration, epoch) if name in ("Ramp", "WarmUp") else value
