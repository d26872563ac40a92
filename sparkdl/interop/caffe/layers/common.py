"""Layers with parameters of other kinds, normalisation, and sums of blobs."""

from math import prod

from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.policies import shortest
from sparkdl.interop.caffe.trained import axis_of, factor_rates, filler, spec_of, weights
from sparkdl.nn import Activation, Affine, BatchNorm, Dense, ElementWise

PROD, SUM, MAX = range(3)
TRAIN = 0


def inner_product(layer, net):
    """All axes from `axis` on with all outputs; those before it each by itself."""
    options = layer.inner_product_param
    shape = net.shape(layer.bottom[0])
    axis = axis_of(options.axis, shape, "axis")
    ours = Dense(
        units=options.num_output,
        activation="identity",
        **weights(layer, options, net, options.transpose),
    )
    before, inside = shape[:axis], prod(shape[axis:])
    rows = (prod(before), inside) if before else (inside,)
    seen = layer.bottom[0]
    if rows != shape and not (len(shape) > 2 and not before):  # of images, ours flattens itself
        seen = net.reshaped(layer, seen, rows, "rows")
    net.add(layer, ours, [seen])
    if len(before) > 1:
        net.reshape_top(layer, (*before, options.num_output))


def batch_norm(layer, net):
    """Mean and variance alone: Scale follows where there is more."""
    options = layer.batch_norm_param
    ours = BatchNorm(
        momentum=shortest(options.moving_average_fraction),
        epsilon=shortest(options.eps),
        scale=False,
        shift=False,
        variance="unbiased",
    )
    net.add_by_channel(layer, ours)


def softmax(layer, net):
    net.add_by_channel(layer, Activation(function="softmax"))


def eltwise(layer, net):
    options = layer.eltwise_param
    factors = tuple(map(shortest, options.coeff))
    if factors and (options.operation != SUM or len(factors) != len(layer.bottom)):
        raise ConfigError("coeff must be given with SUM, one for each bottom")
    if options.operation == SUM and factors:
        ours = ElementWise(operation="add", coefficients=factors)
    else:
        ours = ElementWise(operation={PROD: "product", SUM: "add", MAX: "max"}[options.operation])
    net.add(layer, ours)


def scale(layer, net):
    """Factors that are learned, and with bias_term an offset behind them."""
    options = layer.scale_param
    first = {"shift": options.bias_term}
    if options.HasField("filler"):
        first["scale_initializer"] = filler(options.filler)
    if options.bias_term:
        first["shift_initializer"] = filler(options.bias_filler)
    found = factor_rates(net, spec_of(layer, 0), spec_of(layer, 1))
    net.add(layer, Affine(**first, **found, **axes_of(options, net.shape(layer.bottom[0]))))


def bias(layer, net):
    """Offsets that are learned."""
    options = layer.bias_param
    first = {"scale": False, "shift_initializer": filler(options.filler)}
    spec = spec_of(layer, 0)
    found = factor_rates(net, spec, spec)
    net.add(layer, Affine(**first, **found, **axes_of(options, net.shape(layer.bottom[0]))))


def axes_of(options, shape):
    """Which axes of an example the factors have, from Caffe's axis and num_axes."""
    axis = axis_of(options.axis, shape, "axis")
    axes = len(shape) - axis if options.num_axes == -1 else options.num_axes
    return {"axis": axis, "axes": axes}


COMMON = {
    "Scale": scale,
    "Bias": bias,
    "InnerProduct": inner_product,
    "BatchNorm": batch_norm,
    "Softmax": softmax,
    "Eltwise": eltwise,
}
