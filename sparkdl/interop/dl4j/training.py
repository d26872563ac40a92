"""Training settings of Deeplearning4j's layers: updaters, schedules, l1 and l2, clipping."""

import json
from dataclasses import replace

from sparkdl.errors import UnsupportedError
from sparkdl.interop.dl4j.objects import object_of
from sparkdl.interop.dl4j.schedules import schedule_of
from sparkdl.nn import clipping
from sparkdl.nn.optimizers import (
    AdaBelief,
    AdaDelta,
    AdaGrad,
    AdaMax,
    AdamHat,
    Momentum,
    Nesterov,
    RmsProp,
    Sgd,
)

TINY = 1e-30  # stands for Deeplearning4j's 1e-32, as float32 requires
CURE = "; give another optimizer=..., or training=False"


class UpdaterRules:
    """Conversion of updaters to optimizers; the first one becomes the network's.

    Attributes
    ----------
    optimizer : Optimizer or None
    clippings : set of (str, float)
        Clipping modes of the layers with parameters.
    notes : list of str
    """

    def __init__(self):
        self.optimizer, self.clippings, self.notes = None, set(), []

    def options_of(self, options):
        """Returns the training options of a layer."""
        self.check(options)
        main = self.optimizer_of(options.take("iupdater"), decay_of(options))
        if self.optimizer is None:
            self.optimizer = main
        found = {} if main == self.optimizer else {"optimizer": main}
        biased = options.take("biasupdater")
        if biased is not None:
            found |= {"bias_optimizer": self.optimizer_of(biased, main.weight_decay)}
        return found | penalties(options)

    def check(self, options):
        """Records how gradients are clipped; refuses constraints and weight noise."""
        for name in ("constraints", "weightnoise"):
            given = options.take(name)
            options.need(not given, name, given)
        mode = options.word("gradientnormalization", "none")
        self.clippings.add((mode, options.number("gradientnormalizationthreshold", 1.0)))

    def optimizer_of(self, value, decay):
        """Converts an updater to an optimizer."""
        name, options = object_of(value, "an updater")
        if name not in OPTIMIZERS:
            raise UnsupportedError(f"updater {name!r} is not supported")
        rate = rate_of(options)
        found = OPTIMIZERS[name](options, {} if rate is None else {"learning_rate": rate})
        options.finish()
        return replace(found, weight_decay=decay) if decay else found

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def clipping(self):
        """Returns the Clipping of gradients, or None."""
        if len(self.clippings) > 1:
            raise UnsupportedError("gradientNormalization must be the same for all layers" + CURE)
        [(mode, limit)] = self.clippings or {("none", 1.0)}
        if mode not in CLIPPINGS:
            raise UnsupportedError(f"gradientNormalization {mode!r} is not supported" + CURE)
        return CLIPPINGS[mode](limit)


CLIPPINGS = {
    "none": lambda limit: None,
    "clipelementwiseabsolutevalue": lambda limit: clipping.ClipValue(limit=limit),
    "clipl2perlayer": lambda limit: clipping.ClipLayerNorm(limit=limit),
    "clipl2perparamtype": lambda limit: clipping.ClipArrayNorm(limit=limit),
    "renormalizel2perlayer": lambda limit: clipping.UnitLayerNorm(),
    "renormalizel2perparamtype": lambda limit: clipping.UnitArrayNorm(),
}


def adam(kind):
    def translate(options, rate):
        return kind(
            beta1=options.number("beta1", 0.9),
            beta2=options.number("beta2", 0.999),
            epsilon=max(options.number("epsilon", 1e-8), TINY),
            **rate,
        )

    return translate


def ada_max(options, rate):
    options.take("epsilon")  # ignored: Deeplearning4j's code uses its own constant
    return AdaMax(
        beta1=options.number("beta1", 0.9),
        beta2=options.number("beta2", 0.999),
        epsilon=TINY,
        **rate,
    )


def nesterovs(options, rate):
    for name in ("momentumischedule", "momentumschedule"):
        given = options.take(name)
        options.need(not given, name, given)
    momentum = options.number("momentum", 0.9)
    return Nesterov(momentum=momentum, **rate) if momentum else Sgd(**rate)


def ada_grad(options, rate):
    epsilon = options.number("epsilon", 1e-6)
    return AdaGrad(epsilon=epsilon, initial_accumulator=epsilon, **rate)


def ada_delta(options, rate):
    return AdaDelta(decay=options.number("rho", 0.95), epsilon=options.number("epsilon", 1e-6))


def rms_prop(options, rate):
    return RmsProp(
        decay=options.number("rmsdecay", 0.95), epsilon=options.number("epsilon", 1e-8), **rate
    )


OPTIMIZERS = {
    "adabelief": adam(AdaBelief),
    "adadelta": ada_delta,
    "adagrad": ada_grad,
    "adam": adam(AdamHat),
    "adamax": ada_max,
    "nesterovs": nesterovs,
    "rmsprop": rms_prop,
    "sgd": lambda options, rate: Sgd(**rate),
}
SLOTS = {
    AdaBelief: ("mean", "square"),
    AdaDelta: ("square", "step_square"),
    AdaGrad: ("square",),
    AdamHat: ("mean", "square"),
    AdaMax: ("mean", "largest"),
    Momentum: ("velocity",),
    Nesterov: ("velocity",),
    RmsProp: ("square",),
    Sgd: (),
}


def rate_of(options):
    """Returns the learning rate, a number or a schedule, or None for the optimizer's default."""
    schedule = options.take("learningrateschedule")
    if schedule is not None:
        options.take("learningrate")
        return schedule_of(schedule)
    return options.number("learningrate") if "learningrate" in options.values else None


def penalties(options):
    """Returns the l1 and l2 penalties of a layer; since 1.0.0-beta3 they are a list of objects."""
    found = {name: float(options.number(old, 0.0)) for name, old in OLD_PENALTIES.items()}
    for field, prefix in (("regularization", ""), ("regularizationbias", "bias_")):
        for name, one in parts_of(options, field):
            if name != "weightdecay":
                found[prefix + name] += coefficient(one, name)
    return {name: value for name, value in found.items() if value or name in ("l1", "l2")}


OLD_PENALTIES = {"l1": "l1", "l2": "l2", "bias_l1": "l1bias", "bias_l2": "l2bias"}


def parts_of(options, field):
    """Returns [(name, Options)] for a list of regularizations."""
    values = options.take(field, [])
    options.need(isinstance(values, list), field, values)
    found = [object_of(value, "a regularization", "regularization") for value in values]
    for name, _ in found:
        options.need(name in ("l1", "l2", "weightdecay"), field, name)
    return found


def coefficient(options, name):
    value = options.take(name)
    found = schedule_of(value) if isinstance(value, dict) else value
    options.need(type(found) in (int, float), name, value)
    return float(found)


def decay_of(options):
    """Returns the decoupled weight decay; refuses decay of biases, or independent of the rate."""
    biased = [name for name, _ in parts_of(options, "regularizationbias")]
    options.need("weightdecay" not in biased, "regularizationbias", "WeightDecay")
    decay = 0.0
    for name, one in parts_of(options, "regularization"):
        if name == "weightdecay":
            one.need(one.flag("applylr", True), "applyLR", False)
            decay += coefficient(one, "coeff")  # several are all applied
    return decay


def text_of(updater):
    """Returns a text that is equal for equal updater configurations."""
    return json.dumps(updater, sort_keys=True)
