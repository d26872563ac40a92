"""Other layers with parameters, normalization, and operations on blobs."""

from math import prod

from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.interop.caffe.layers.parameters import factor_rates, filler, spec_of, weights
from sparkdl.interop.caffe.messages.schema import LayerParameter
from sparkdl.interop.caffe.nets.names import name_of
from sparkdl.interop.caffe.nets.phases import PHASES
from sparkdl.interop.caffe.policies import shortest
from sparkdl.nn import (
    MVN,
    Activation,
    Affine,
    BatchNorm,
    BatchReindex,
    Broadcasting,
    Dense,
    DenseTranspose,
    ElementWise,
    Embedding,
    EmbeddingSequence,
    Frozen,
    Learned,
    Permute,
    Reduce,
)

PROD, SUM, MAX = range(3)


def inner_product(layer, net):
    """Connects all axes from `axis` on to all outputs; preceding axes are kept.

    Weights that are shared without the biases have a layer without a bias.
    """
    options = layer.inner_product_param
    shape = net.shape(layer.bottom[0])
    axis = net.axis(layer.bottom[0], options.axis, behind=True)
    fields = weights(layer, options, net, options.transpose)
    apart = options.bias_term and bool(layer.param) and layer.param[0].name in net.apart
    if apart:
        fields = {name: value for name, value in fields.items() if "bias" not in name}
        fields["bias"] = False
    new_layer = Dense(units=options.num_output, activation="identity", **fields)
    if net.is_turned(layer, new_layer):
        new_layer = DenseTranspose(units=options.num_output, activation="identity", **fields)
    before, inside = shape[:axis], prod(shape[axis:])
    rows = (prod(before), inside) if before else (inside,)
    seen = layer.bottom[0]
    if rows != shape and not (len(shape) > 2 and not before):  # Dense flattens images itself
        seen = net.reshape_blob(layer, seen, rows, "rows")
    net.add(layer, new_layer, [seen], specs=layer.param[:1] if apart else None)
    if apart:
        add_offset(layer, net, spec_of(layer, 1), options.bias_filler)
    if len(before) > 1:
        net.reshape_top(layer, (*before, options.num_output))


def add_offset(layer, net, spec, message, **axes):
    """Adds a learned offset to the output of a layer, as a layer of its own.

    Parameters
    ----------
    spec : ParamSpec of the offset
    message : FillerParameter
    axes : `axis` and `axes` of the Affine; by default those of units
    """
    rates = factor_rates(net, spec, spec)
    new_layer = Affine(scale=False, shift_initializer=filler(message), **rates, **axes)
    top = layer.top[0]
    net.add(LayerParameter(), new_layer, [top], top, f"{name_of(layer)}/bias", specs=[spec])


def batch_norm(layer, net):
    """Normalizes by mean and variance only; a Scale may follow.

    With use_global_stats the stored statistics are also used in training. An explicit
    `use_global_stats: false` would use those of the batch in tests as well, which sparkdl does not
    support.
    """
    options = layer.batch_norm_param
    phase = layer.phase if layer.HasField("phase") else net.phase
    given = options.HasField("use_global_stats")
    if given and not options.use_global_stats and phase == PHASES["TEST"]:
        raise UnsupportedError(
            "use_global_stats must not be false in phase TEST: that normalizes by the batch; "
            "leave it out, or give each phase a layer of its own"
        )
    new_layer = BatchNorm(
        momentum=shortest(options.moving_average_fraction),
        epsilon=shortest(options.eps),
        scale=False,
        shift=False,
        variance="unbiased",
        debias=True,
    )
    net.add_by_channel(layer, Frozen(layer=new_layer) if options.use_global_stats else new_layer)


def softmax(layer, net):
    """Applies softmax along one axis, which is moved to sparkdl's axis and back."""
    bottom = layer.bottom[0]
    axis = net.axis(bottom, layer.softmax_param.axis)
    seen, order = net.units_in_place(layer, bottom, axis)
    net.add(layer, Activation("softmax"), [seen])
    if order is not None:
        back = tuple(order.index(i) for i in range(len(order)))
        new_layer = Permute(order=back)
        net.add(LayerParameter(), new_layer, [layer.top[0]], layer.top[0], f"{name_of(layer)}/back")


def eltwise(layer, net):
    options = layer.eltwise_param
    factors = tuple(map(shortest, options.coeff))
    if factors and (options.operation != SUM or len(factors) != len(layer.bottom)):
        raise ConfigError("coeff must be given with SUM, one for each bottom")
    if options.operation == SUM and factors:
        new_layer = ElementWise(operation="add", coefficients=factors)
    else:
        operation = {PROD: "product", SUM: "add", MAX: "max"}[options.operation]
        new_layer = ElementWise(operation=operation)
    net.add(layer, new_layer)


def scale(layer, net):
    """Multiplies by learned factors, plus an offset with bias_term; or by another blob."""
    options = layer.scale_param
    if len(layer.bottom) == 2:
        broadcast(layer, net, "product", options)
        if options.bias_term:
            shift_top(layer, net, options)
        return
    first = {"shift": options.bias_term}
    if options.HasField("filler"):
        first["scale_initializer"] = filler(options.filler)
    if options.bias_term:
        first["shift_initializer"] = filler(options.bias_filler)
    rates = factor_rates(net, spec_of(layer, 0), spec_of(layer, 1))
    net.add(layer, Affine(**first, **rates, **axes_of(layer, net, options)))


def bias(layer, net):
    """Adds learned offsets, or another blob."""
    options = layer.bias_param
    if len(layer.bottom) == 2:
        return broadcast(layer, net, "add", options)
    first = {"scale": False, "shift_initializer": filler(options.filler)}
    spec = spec_of(layer, 0)
    rates = factor_rates(net, spec, spec)
    return net.add(layer, Affine(**first, **rates, **axes_of(layer, net, options)))


def broadcast(layer, net, operation, options):
    """Broadcasts the second bottom over the first."""
    wide, narrow = layer.bottom
    if narrow in net.parameters:
        axis = net.axis(wide, options.axis, behind=len(net.shape(narrow)) > 1)
    else:
        axis = axis_of_data(net, wide, narrow, options.axis)
    net.add(layer, Broadcasting(operation=operation, axis=axis))


def axis_of_data(net, wide, narrow, axis):
    """Returns the axis of an example from which `narrow` is broadcast over `wide`.

    For sequences it is 0 for a number per step, 1 for values of a whole sequence.
    """
    batch, own = net.batch_axis(wide), net.batch_axis(narrow)
    first = axis if axis >= 0 else axis + len(net.shape(wide)) + 1
    if first + own != batch:
        least = " or 1" if batch else ""
        raise UnsupportedError(
            f"axis must be 0{least} where the second bottom is data with the batch of the first, "
            f"got {axis}; other axes need a Parameter as second bottom"
        )
    return first


def shift_top(layer, net, options):
    """Adds the offset of a Scale whose factors are a Parameter."""
    if layer.bottom[1] not in net.parameters:
        raise UnsupportedError(
            "bias_term must be false where the factors are data; add a Bias layer"
        )
    axis = net.axis(layer.top[0], options.axis)
    axes = len(net.shape(layer.bottom[1]))
    add_offset(layer, net, spec_of(layer, 0), options.bias_filler, axis=axis, axes=axes)


def axes_of(layer, net, options):
    """Returns the example axes that the factors have, from Caffe's axis and num_axes."""
    if options.num_axes == 0:
        return {"axis": 0, "axes": 0}
    axis = net.axis(layer.bottom[0], options.axis, behind=options.num_axes != 1)
    rank = len(net.shape(layer.bottom[0]))
    axes = rank - axis if options.num_axes == -1 else options.num_axes
    return {"axis": axis, "axes": axes}


def embed(layer, net):
    """Looks up rows of a table, along a new last axis."""
    options, bottom = layer.embed_param, layer.bottom[0]
    if options.bias_term and layer.param and layer.param[0].name in net.apart:
        raise UnsupportedError(
            "bias_term must be false where another layer shares the table alone, got true"
        )
    shape, layer_options = net.shape(bottom), weights(layer, options, net)
    layer_options |= {"vocabulary_size": options.input_dim, "units": options.num_output}
    if bottom in net.single:
        net.add(layer, Embedding(**layer_options))
        net.mark(net.single, layer.top[0], False)
        return
    flat = len(shape) == 1
    seen = bottom if flat else net.reshape_blob(layer, bottom, (prod(shape),), "numbers")
    net.add(layer, EmbeddingSequence(**layer_options), [seen])
    if not flat:
        net.reshape_top(layer, (*shape, options.num_output))


def mvn(layer, net):
    options, bottom = layer.mvn_param, net.by_channel(layer.bottom[0])
    new_layer = MVN(
        normalize_variance=options.normalize_variance,
        across_channels=options.across_channels,
        epsilon=shortest(options.eps),
    )
    shape = net.shape(bottom)
    if len(shape) == 3:
        return net.add(layer, new_layer)
    wide = net.reshape_blob(layer, bottom, (shape[0], prod(shape[1:]), 1), "images")
    net.add(layer, new_layer, [wide])
    return net.reshape_top(layer, shape)


def reduction(layer, net):
    """Reduces from an axis on; from the batch axis on, gives each example's contribution."""
    options, shape = layer.reduction_param, net.shape(layer.bottom[0])
    kind = OPERATIONS[options.operation]
    over_all = options.axis in (0, -1 - len(shape))
    axis = 0 if over_all else net.axis(layer.bottom[0], options.axis, behind=True)
    net.add(layer, Reduce(operation=kind, axis=axis, coefficient=shortest(options.coeff)))
    if over_all:
        net.of_batch[layer.top[0]] = kind
        net.mark(net.sequences, layer.top[0], False)


def parameter(layer, net):
    """Adds learned numbers, the same for all examples."""
    shape = tuple(layer.parameter_param.shape.dim)
    if not net.inputs:
        raise UnsupportedError("a Parameter layer must come after the data layers")
    spec = spec_of(layer, 0)
    new_layer = Learned(shape=shape, **factor_rates(net, spec, spec))
    net.add(layer, new_layer, [next(iter(net.inputs))])
    net.mark(net.parameters, layer.top[0], True)
    net.mark(net.sequences, layer.top[0], False)


def batch_reindex(layer, net):
    net.add(layer, BatchReindex())


OPERATIONS = {1: "sum", 2: "asum", 3: "sumsq", 4: "mean"}
COMMON = {
    "Embed": embed,
    "MVN": mvn,
    "Reduction": reduction,
    "Parameter": parameter,
    "BatchReindex": batch_reindex,
    "Scale": scale,
    "Bias": bias,
    "InnerProduct": inner_product,
    "BatchNorm": batch_norm,
    "Softmax": softmax,
    "Eltwise": eltwise,
}
