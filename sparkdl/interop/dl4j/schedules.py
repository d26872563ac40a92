"""Learning rate schedules of Deeplearning4j."""

from sparkdl.errors import UnsupportedError
from sparkdl.interop.dl4j.objects import object_of
from sparkdl.nn import schedules as rates


def schedule_of(value):
    """Converts a Deeplearning4j schedule to a Schedule."""
    name, options = object_of(value, "a schedule", "schedule")
    if name not in SCHEDULES:
        raise UnsupportedError(f"schedule {name!r} is not supported")
    per = {"per": options.word("scheduletype", "iteration")}
    found = SCHEDULES[name](options, per)
    options.finish()
    return found


def initial(options):
    return options.number("initialvalue")


def pieces(options, per):
    options.take("allkeyssorted")
    values = options.take("values", {})
    options.need(isinstance(values, dict) and all(map(str.isdecimal, values)), "values", values)
    rates_from = sorted((int(start), rate) for start, rate in values.items())
    return rates.PiecewiseConstantSchedule(rates=tuple(rates_from), **per)


SCHEDULES = {
    "exponential": lambda options, per: rates.ExponentialSchedule(
        initial=initial(options), gamma=options.number("gamma"), **per
    ),
    "fixed": lambda options, per: options.number("value"),
    "inverse": lambda options, per: rates.InverseSchedule(
        initial=initial(options),
        gamma=options.number("gamma"),
        power=options.number("power"),
        **per,
    ),
    "map": pieces,
    "poly": lambda options, per: rates.PolynomialSchedule(
        initial=initial(options),
        power=options.number("power"),
        steps=options.size("maxiter"),
        **per,
    ),
    "sigmoid": lambda options, per: rates.SigmoidSchedule(
        initial=initial(options),
        gamma=options.number("gamma"),
        step=options.size("stepsize"),
        **per,
    ),
    "step": lambda options, per: rates.StepSchedule(
        initial=initial(options),
        gamma=options.number("decayrate"),
        step=options.whole("step"),
        **per,
    ),
}
