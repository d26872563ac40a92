"""Element-wise layers."""

from sparkdl.interop.caffe.layers.parameters import factor_rates, filler, spec_of
from sparkdl.interop.caffe.policies import shortest
from sparkdl.nn import Activation, Dropout, PRelu
from sparkdl.nn.activations import (
    AbsVal,
    Clip,
    Elu,
    Exp,
    Heaviside,
    LeakyRelu,
    Log,
    Power,
    Relu,
    Sigmoid,
    Softplus,
    Swish,
    Tanh,
)


def relu(layer):
    slope = shortest(layer.relu_param.negative_slope)
    return LeakyRelu(alpha=slope) if slope else Relu()


def elu(layer):
    """Returns an Elu, or a Relu if alpha is 0."""
    alpha = shortest(layer.elu_param.alpha)
    return Elu(alpha=alpha) if alpha else Relu()


def clip(layer):
    return Clip(low=shortest(layer.clip_param.min), high=shortest(layer.clip_param.max))


def power(layer):
    return Power(power=shortest(layer.power_param.power), **line(layer.power_param))


def exp(layer):
    return Exp(base=base(layer.exp_param), **line(layer.exp_param))


def log(layer):
    return Log(base=base(layer.log_param), **line(layer.log_param))


def line(options):
    return {"scale": shortest(options.scale), "shift": shortest(options.shift)}


def base(options):
    """Returns the base, None for e, which Caffe writes as -1."""
    return None if options.base == -1 else shortest(options.base)


FUNCTIONS = {
    "AbsVal": lambda layer: AbsVal(),
    "BNLL": lambda layer: Softplus(),
    "Clip": clip,
    "ELU": elu,
    "Exp": exp,
    "Log": log,
    "Power": power,
    "ReLU": relu,
    "Sigmoid": lambda layer: Sigmoid(),
    "Swish": lambda layer: Swish(beta=shortest(layer.swish_param.beta)),
    "TanH": lambda layer: Tanh(),
    "Threshold": lambda layer: Heaviside(threshold=shortest(layer.threshold_param.threshold)),
}


def activation(layer, net):
    net.add(layer, Activation(FUNCTIONS[layer.type](layer)))


def dropout(layer, net):
    net.add(layer, Dropout(rate=shortest(layer.dropout_param.dropout_ratio)))


def prelu(layer, net):
    options, spec = layer.prelu_param, spec_of(layer, 0)
    initializer = {"initializer": filler(options.filler)} if options.HasField("filler") else {}
    new_layer = PRelu(
        shared=options.channel_shared,
        **factor_rates(net, spec, spec),
        **initializer,
    )
    if options.channel_shared:
        return net.add(layer, new_layer)
    return net.add_by_channel(layer, new_layer)


NEURONS = dict.fromkeys(FUNCTIONS, activation) | {"Dropout": dropout, "PReLU": prelu}
