"""Caffe's learning rate policies as schedules."""

from sparkdl.errors import ConfigError
from sparkdl.nn.schedules import (
    ExponentialSchedule,
    InverseSchedule,
    MultiStepSchedule,
    PolynomialSchedule,
    SigmoidSchedule,
    StepSchedule,
)

# {policy: (schedule, {option of the schedule: field of the solver})}
POLICIES = {
    "step": (StepSchedule, {"gamma": "gamma", "step": "stepsize"}),
    "exp": (ExponentialSchedule, {"gamma": "gamma"}),
    "inv": (InverseSchedule, {"gamma": "gamma", "power": "power"}),
    "multistep": (MultiStepSchedule, {"gamma": "gamma", "steps": "stepvalue"}),
    "poly": (PolynomialSchedule, {"steps": "max_iter", "power": "power"}),
    "sigmoid": (SigmoidSchedule, {"gamma": "gamma", "step": "stepsize"}),
}


def rate_of(message):
    """Returns the learning rate of a SolverParameter: a number, or a Schedule by updates.

    Raises
    ------
    ConfigError
        If the policy is unknown, or its numbers are missing.
    """
    policy = message.lr_policy
    if not message.HasField("base_lr"):
        raise ConfigError("a solver must have base_lr, got none")
    initial = shortest(message.base_lr)
    if policy == "fixed":
        return initial
    if policy not in POLICIES:
        raise ConfigError(
            f"lr_policy must be one of {', '.join(['fixed', *POLICIES])}, got {policy!r}"
        )
    schedule, fields = POLICIES[policy]
    options = {option: policy_field(message, field) for option, field in fields.items()}
    if policy == "sigmoid":  # Caffe's decreases for negative gamma
        options["gamma"] = -options["gamma"]
    return schedule(initial=initial, **options)


def policy_field(message, name):
    """Returns a field required by the policy."""
    value = getattr(message, name)
    if name == "stepvalue":
        return tuple(value)
    if not message.HasField(name):
        raise ConfigError(f"lr_policy {message.lr_policy!r} needs {name}, got none")
    return shortest(value) if isinstance(value, float) else value


def shortest(number):
    """Returns the shortest decimal with the same float32: 0.9 for 0.89999998."""
    return float(f"{number:.7g}")
