"""Learning rate schedules of Keras, by the number of the update."""

from math import floor

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras.options import object_of
from sparkdl.nn import schedules

MOST = 1e18  # largest number accepted, so that all are finite floats


def rate_of(options):
    """Returns the learning rate of an optimizer's Options: a number, or a Schedule.

    Raises
    ------
    UnsupportedError
        If the schedule is not one of Keras's, or has unsupported options.
    """
    default = options.take("lr", 0.001)
    value = options.take("learning_rate", default)
    if isinstance(value, dict):
        return schedule_of(value)
    return options.number("learning_rate", default)


def schedule_of(value):
    """Converts a schedule written by Keras to a Schedule.

    Raises as `rate_of`, and ConfigError for numbers that no Schedule allows.
    """
    name, options = object_of(value)
    if name not in SCHEDULES:
        raise UnsupportedError(f"the schedule {name} is not supported")
    found = SCHEDULES[name](options)
    options.finish()
    return found


def exponential(options):
    initial, steps = initial_of(options), positive(options, "decay_steps")
    factor = positive(options, "decay_rate")
    if options.flag("staircase"):
        step = options.whole("decay_steps")
        return schedules.StepSchedule(initial=initial, gamma=factor, step=step)
    options.need(factor <= 1, "decay_rate", factor)
    return schedules.ExponentialSchedule(initial=initial, gamma=factor ** (1 / steps))


def inverse_time(options):
    options.only(staircase=False)
    gamma = positive(options, "decay_rate") / positive(options, "decay_steps")
    return schedules.InverseSchedule(initial=initial_of(options), gamma=gamma)


def polynomial(options):
    options.only(cycle=False)
    return schedules.PolynomialSchedule(
        initial=initial_of(options),
        steps=whole(options, "decay_steps"),
        power=bounded(options, "power", 1.0),
        final=bounded(options, "end_learning_rate", 0.0001),
    )


def cosine(options):
    """Returns a cosine decay, after a linear warm-up to its initial rate."""
    initial, alpha = initial_of(options), bounded(options, "alpha", 0.0)
    steps, warm_up = whole(options, "decay_steps"), whole(options, "warmup_steps", 0)
    with_warm_up = options.take("warmup_target") is not None
    target = positive(options, "warmup_target") if with_warm_up else initial
    fall = schedules.CosineSchedule(initial=target, steps=steps, final=alpha * target)
    if not (with_warm_up and warm_up):
        return fall
    options.need(initial < target, "initial_learning_rate", initial)
    rise = schedules.WarmUpSchedule(steps=warm_up, then=target, start=initial / target)
    return schedules.SequentialSchedule(schedules=((0, rise), (warm_up, fall)))


def cosine_restarts(options):
    initial = initial_of(options)
    return schedules.CosineRestartsSchedule(
        initial=initial,
        steps=whole(options, "first_decay_steps"),
        steps_factor=bounded(options, "t_mul", 2.0),
        rate_factor=bounded(options, "m_mul", 1.0),
        final=bounded(options, "alpha", 0.0) * initial,
    )


def piecewise(options):
    """Returns steps by update.

    Keras's boundary is the last update of a rate, sparkdl's is the first one of the next.
    """
    lasts, values = options.take("boundaries"), options.take("values")
    row = list | tuple
    options.need(isinstance(lasts, row) and all(map(is_number, lasts)), "boundaries", lasts)
    options.need(isinstance(values, row) and len(values) == len(lasts) + 1, "values", values)
    starts = [0, *(floor(last) + 1 for last in lasts)]
    return schedules.PiecewiseConstantSchedule(rates=tuple(zip(starts, values)))


def initial_of(options):
    return bounded(options, "initial_learning_rate")


def bounded(options, name, default=None):
    value = options.number(name, default)
    options.need(0 <= value <= MOST, name, value)
    return value


def whole(options, name, default=None):
    bounded(options, name, default)
    return options.whole(name, default)


def positive(options, name):
    value = options.number(name)
    options.need(0 < value <= MOST, name, value)
    return value


def is_number(value):
    return isinstance(value, int | float) and abs(value) <= MOST


SCHEDULES = {
    "CosineDecay": cosine,
    "CosineDecayRestarts": cosine_restarts,
    "ExponentialDecay": exponential,
    "InverseTimeDecay": inverse_time,
    "PiecewiseConstantDecay": piecewise,
    "PolynomialDecay": polynomial,
}
