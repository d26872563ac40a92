"""Options of Caffe's layers with parameters: fillers, rates, decay, shapes by axis."""

from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.policies import shortest
from sparkdl.nn.initializers import (
    Bilinear,
    Constant,
    Normal,
    PositiveUnitball,
    Uniform,
    VarianceScaling,
)

MODES = ("fan_in", "fan_out", "fan_avg")  # by the value of variance_norm


def filler(message, swapped=False):
    """Converts a FillerParameter to an initializer.

    If Caffe stores the weights transposed, its fan-in is the fan-out here.
    """
    kind = message.type
    if kind == "constant":
        return Constant(value=shortest(message.value))
    if kind == "uniform":
        return Uniform(low=shortest(message.min), high=shortest(message.max))
    if kind == "gaussian":
        mean, std = shortest(message.mean), shortest(message.std)
        if message.sparse == 0:  # not sparse
            return Constant(value=0.0)
        sparse = message.sparse if message.sparse > 0 else None
        return Normal(mean=mean, std=std, sparse=sparse) if std else Constant(value=mean)
    if kind in SCALED:
        modes = (MODES[1], MODES[0], MODES[2]) if swapped else MODES
        return VarianceScaling(**SCALED[kind], mode=modes[message.variance_norm])
    if kind in PLAIN:
        return PLAIN[kind]()
    known = ["constant", "uniform", "gaussian", *SCALED, *PLAIN]
    raise ConfigError(f"a filler's type must be one of {known}, got {kind!r}")


SCALED = {
    "xavier": {"scale": 1.0, "distribution": "uniform"},
    "msra": {"scale": 2.0, "distribution": "normal"},
}
PLAIN = {"positive_unitball": PositiveUnitball, "bilinear": Bilinear}


def rates(layer, net):
    """Converts Caffe's param { } to options of a layer with weights W and biases b.

    In Caffe, biases decay like weights unless decay_mult differs.
    """
    return rates_of(net, spec_of(layer, 0), spec_of(layer, 1))


def rates_of(net, weight, bias):
    """Works as `rates`, for the ParamSpecs of weights and biases."""
    (rate, decay), (bias_rate, bias_decay) = multipliers(net, weight), multipliers(net, bias)
    return {
        "rate_factor": rate,
        "bias_rate_factor": bias_rate,
        "decay_factor": decay,
        "bias_l1": net.l1 * bias_decay,
        "bias_l2": net.l2 * bias_decay,
    }


def factor_rates(net, factor, offset):
    """Works as `rates_of`, for a layer with gamma or alpha, and beta."""
    (rate, decay), (bias_rate, bias_decay) = multipliers(net, factor), multipliers(net, offset)
    return {
        "rate_factor": rate,
        "bias_rate_factor": bias_rate,
        "l1": net.l1 * decay,
        "l2": net.l2 * decay,
        "bias_l1": net.l1 * bias_decay,
        "bias_l2": net.l2 * bias_decay,
    }


def multipliers(net, spec):
    """Returns (lr_mult, decay_mult) of a parameter; layers that share it have the same."""
    spec = net.specs.get(spec.name, spec)
    return shortest(spec.lr_mult), shortest(spec.decay_mult)


def spec_of(layer, place):
    """Returns the ParamSpec at a position among a layer's parameters, or the default."""
    if place < len(layer.param):
        return layer.param[place]
    return type(layer)().param.add()


def weights(layer, options, net, swapped=False):
    """Returns `rates`, initializers, and whether there are biases; `swapped` as in `filler`."""
    fields = rates(layer, net) | {"bias": options.bias_term}
    fields["initializer"] = filler(options.weight_filler, swapped)
    if options.bias_term:
        fields["bias_initializer"] = filler(options.bias_filler)
    return fields
