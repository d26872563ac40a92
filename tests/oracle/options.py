"""Options shared by many layers, drawn for those that a class has."""

from dataclasses import fields, replace

from tests.nn.examples import (
    ACTIVATIONS,
    CONSTRAINTS,
    INITIALIZERS,
    OPTIMIZERS,
    SCHEDULES,
    WEIGHT_NOISES,
)

RATES = (0.0, 0.5, 2.0)
OPTIONAL = {  # option: (probability, possible values)
    "activation": (0.6, ACTIVATIONS),
    "bias": (0.2, (False,)),
    "bias_constraints": (0.03, [(c,) for c in CONSTRAINTS]),
    "bias_initializer": (0.15, INITIALIZERS),
    "bias_l1": (0.03, (0.1,)),
    "bias_l2": (0.03, (0.1,)),
    "bias_rate_factor": (0.03, RATES),
    "bias_optimizer": (0.03, OPTIMIZERS),
    "constraints": (0.05, [(c,) for c in CONSTRAINTS]),
    "decay_factor": (0.03, RATES),
    "gate_activation": (0.2, ({"type": "hard_sigmoid", "slope": 0.2},)),
    "initializer": (0.15, INITIALIZERS),
    "l1": (0.05, (0.0, 0.1)),
    "l2": (0.05, (0.0, 0.1)),
    "peephole_initializer": (0.3, ("normal",)),
    "rate_factor": (0.03, RATES),
    "recurrent_initializer": (0.1, INITIALIZERS),
    "scale": (0.3, (False,)),
    "shift": (0.3, (False,)),
    "optimizer": (0.04, OPTIMIZERS),
    "weight_noise": (0.06, WEIGHT_NOISES),
}


def options_of(choices, cls, given=()):
    """Draws {option: value} for some options in OPTIONAL that `cls` has and `given` lacks."""
    names = {item.name for item in fields(cls)} - set(given)
    drawn = {}
    for name, (share, values) in OPTIONAL.items():
        if name in names and choices.chance(share):
            drawn[name] = choices.pick(values)
    if cls.__name__ in ("Rescaling", "OfLine"):
        drawn.pop("scale", None)
    return drawn


def optimizer(choices):
    """Draws an optimizer, sometimes with a schedule as its rate."""
    drawn = choices.pick(OPTIMIZERS)
    return replace(drawn, learning_rate=choices.pick(SCHEDULES)) if choices.chance(0.2) else drawn
