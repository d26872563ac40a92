"""Optimizers of Keras, and their state."""

from dataclasses import replace

import numpy as np

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras.options import object_of
from sparkdl.interop.keras.schedules import rate_of
from sparkdl.interop.keras.weights import read_optimizer
from sparkdl.nn.clipping import ClipArrayNorm, ClipNorm, ClipValue
from sparkdl.nn.optimizers import AdaDelta, AdaGrad, AdamHat, Ftrl, Momentum, Nesterov, RmsProp, Sgd
from sparkdl.nn.schedules import Schedule

CLIPPINGS = {"clipnorm": ClipArrayNorm, "global_clipnorm": ClipNorm, "clipvalue": ClipValue}
HABITS = ("jit_compile", "is_legacy_optimizer", "ema_momentum", "ema_overwrite_frequency")
SLOTS = {
    AdaGrad: ("square",),
    AdamHat: ("mean", "square"),
    Ftrl: ("square", "linear"),
    Momentum: ("velocity",),
    Nesterov: ("velocity",),
    RmsProp: ("square",),
    Sgd: (),
}


def optimizer_of(value, notes):
    """Converts an optimizer to network options, including clipping.

    Differences are added to `notes`.
    """
    name, options = object_of(value)
    key = name.lower()
    if key not in RULES:
        raise UnsupportedError(f"{name} is not supported")
    rate = rate_of(options)
    decay = options.take("weight_decay") or 0.0
    found = replace(RULES[key](options, rate), weight_decay=decay)
    if decay:
        options.need(key != "ftrl", "weight_decay", decay)  # its step depends on decayed weights
        notes.append("weight_decay leaves biases and normalization alone, Keras decays them")
    options.only(use_ema=False, loss_scale_factor=None, gradient_accumulation_steps=None)
    options.only(decay=0.0)
    for habit in HABITS:
        options.take(habit)
    clipping = {kind: options.take(kind) for kind in CLIPPINGS}
    chosen = [CLIPPINGS[kind](limit=limit) for kind, limit in clipping.items() if limit is not None]
    options.finish()
    if len(chosen) > 1:
        raise UnsupportedError(f"{len(chosen)} clippings at once")
    return {"optimizer": found} | ({"clipping": chosen[0]} if chosen else {})


def sgd(options, rate):
    momentum = options.number("momentum", 0.0)
    nesterov = options.flag("nesterov")
    if momentum == 0:
        return Sgd(learning_rate=rate)
    return (Nesterov if nesterov else Momentum)(learning_rate=rate, momentum=momentum)


def adam(options, rate):
    """Returns an AdamHat: Keras adds epsilon before bias correction."""
    options.only(amsgrad=False)
    return AdamHat(
        learning_rate=rate,
        beta1=options.number("beta_1", 0.9),
        beta2=options.number("beta_2", 0.999),
        epsilon=options.number("epsilon", 1e-7),
    )


def ada_delta(options, rate):
    return AdaDelta(
        learning_rate=rate,
        decay=options.number("rho", 0.95),
        epsilon=options.number("epsilon", 1e-7),
    )


def ada_grad(options, rate):
    return AdaGrad(
        learning_rate=rate,
        initial_accumulator=options.number("initial_accumulator_value", 0.1),
        **root_of(options),
    )


def rms_prop(options, rate):
    options.only(momentum=0.0, centered=False)
    return RmsProp(
        learning_rate=rate,
        decay=options.number("rho", 0.9),
        **root_of(options),
    )


def root_of(options):
    """Returns the options of a RootOfSquares: Keras adds epsilon below the root."""
    return {"epsilon": options.number("epsilon", 1e-7), "epsilon_in_root": True}


def ftrl(options, rate):
    """Returns an Ftrl; Keras's l2 is half of sparkdl's, which is the paper's."""
    options.only(learning_rate_power=-0.5, l2_shrinkage_regularization_strength=0.0)
    return Ftrl(
        learning_rate=rate,
        l1=options.number("l1_regularization_strength", 0.0),
        l2=2 * options.number("l2_regularization_strength", 0.0),
        beta=options.number("beta", 0.0),
        initial_accumulator=options.number("initial_accumulator_value", 0.1),
    )


RULES = {
    "sgd": sgd,
    "adam": adam,
    "adamw": adam,
    "adadelta": ada_delta,
    "adagrad": ada_grad,
    "rmsprop": rms_prop,
    "ftrl": ftrl,
}


def with_slots(network, document, taken, notes):
    """Returns a network's state with the optimizer state of the file, if any."""
    conf, state = network.conf, network.state
    trained = sorted((one for one in taken if one.trained), key=lambda one: one.rank)
    optimizer = conf.optimizer
    names = SLOTS.get(type(optimizer))
    if names is None or document.version < 3 or len(conf.groups) > 1:
        notes.append("the state of the optimizer is not read; it starts from nothing")
        return state
    has_rate, count = not isinstance(optimizer.learning_rate, Schedule), len(trained) * len(names)
    found = read_optimizer(document.weights, document.path, count, has_rate)
    if found is None:
        return state
    iteration, arrays = found
    slots = state.slots.copy()
    vectors = conf.slots_layout.views(slots)
    for i, one in enumerate(trained):
        change = one.take.state_change or one.take.change
        for j, name in enumerate(names):
            views = conf.params_layout.views(vectors[name])
            value = np.asarray(change(arrays[i * len(names) + j]), np.float32)
            views[f"{one.vertex}/{one.ours}"][...] = value
    return replace(state, slots=slots, iteration=iteration)
