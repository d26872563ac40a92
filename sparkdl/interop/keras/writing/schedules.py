"""Conversion of learning rate schedules to Keras's."""

from contextlib import suppress
from math import isclose

from sparkdl.errors import DivergedError, UnsupportedError
from sparkdl.interop.keras.schedules import schedule_of
from sparkdl.interop.keras.twins import document
from sparkdl.nn import schedules

LOOKS = range(200)  # updates at which rates are compared, in steps of 1 and of the schedule


def rate(ours):
    """Returns a learning rate for Keras: a number, or the document of a schedule."""
    if not isinstance(ours, schedules.Schedule):
        return ours
    kind, config = RULES.get(type(ours), lambda ours: (None, {}))(ours)
    if kind is None or ours.per != "iteration":
        raise UnsupportedError(f"the schedule {ours} is not supported")
    found = document("optimizers.schedules", kind, config)
    again = schedule_of(found)
    for t in (step * look for step in (1, len(LOOKS)) for look in LOOKS):
        with suppress(DivergedError):  # a rate that grows without bound
            if not isclose(again.rate(t, 0), ours.rate(t, 0), rel_tol=1e-6, abs_tol=1e-12):
                raise UnsupportedError(f"the schedule {ours} is not supported")
    return found


def exponential(ours):
    return "ExponentialDecay", begins(ours) | {"decay_steps": 1, "decay_rate": ours.gamma}


def step(ours):
    drops = {"decay_steps": ours.step, "decay_rate": ours.gamma, "staircase": True}
    return "ExponentialDecay", begins(ours) | drops


def inverse(ours):
    if ours.power != 1:
        return None, {}
    return "InverseTimeDecay", begins(ours) | {"decay_steps": 1, "decay_rate": ours.gamma}


def polynomial(ours):
    end = {"end_learning_rate": ours.final, "power": ours.power}
    return "PolynomialDecay", begins(ours) | {"decay_steps": ours.steps} | end


def cosine(ours):
    return "CosineDecay", begins(ours) | {"decay_steps": ours.steps} | alpha(ours)


def cosine_restarts(ours):
    again = {"t_mul": ours.steps_factor, "m_mul": ours.rate_factor}
    return "CosineDecayRestarts", begins(ours) | {"first_decay_steps": ours.steps} | again | alpha(
        ours
    )


def pieces(ours):
    if len(ours.rates) == 1:  # Keras fails without a boundary
        return None, {}
    starts, values = zip(*ours.rates)
    lasts = [start - 1 for start in starts[1:]]
    return "PiecewiseConstantDecay", {"boundaries": lasts, "values": list(values)}


def sequential(ours):
    """Returns a cosine decay after a warm-up to its initial rate, the only kind in Keras."""
    kinds = [type(one) for _, one in ours.schedules]
    if kinds != [schedules.WarmUpSchedule, schedules.CosineSchedule]:
        return None, {}
    (_, rise), (start, fall) = ours.schedules
    if not isinstance(rise.then, float) or rise.steps != start:
        return None, {}
    warm_up = {"warmup_steps": start, "warmup_target": rise.then}
    config = {"initial_learning_rate": rise.start * rise.then, "decay_steps": fall.steps}
    return "CosineDecay", config | warm_up | alpha(fall)


def begins(ours):
    return {"initial_learning_rate": ours.initial}


def alpha(ours):
    return {"alpha": ours.final / ours.initial}


RULES = {
    schedules.CosineRestartsSchedule: cosine_restarts,
    schedules.CosineSchedule: cosine,
    schedules.ExponentialSchedule: exponential,
    schedules.InverseSchedule: inverse,
    schedules.PiecewiseConstantSchedule: pieces,
    schedules.PolynomialSchedule: polynomial,
    schedules.SequentialSchedule: sequential,
    schedules.StepSchedule: step,
}
