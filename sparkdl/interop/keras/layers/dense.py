"""Dense and embedding layers, and activation functions as layers."""

from math import prod

from sparkdl.interop.keras.automatic_masks import mask_of_words
from sparkdl.interop.keras.layers.common import activated, check_softmax, weighted
from sparkdl.interop.keras.members import activation, constraint, initializer, regularizer
from sparkdl.interop.keras.places import Take, example_axis, flat, no_masks
from sparkdl.nn import layers as nn


def dense(at):
    """Adds a Dense, which for several axes applies to the last one."""
    x = at.plain(at.one())
    options = weighted(at.options) | activated(at)
    at.options.only(quantization_config=None, lora_rank=None)
    layer = nn.Dense(units=at.options.size("units"), **options)
    takes = [Take(ours="W"), *([Take(ours="b")] if layer.bias else [])]
    if len(x.shape) < 3:
        return at.add(layer, x, takes=takes)
    steps = nn.Reshape(shape=(prod(x.shape[:-1]), x.shape[-1]))
    y = at.add(layer, at.add(steps, x, helper=True), takes=takes)
    return at.add(nn.Reshape(shape=(*x.shape[:-1], layer.units)), y, helper=True)


def embedding(at):
    x = at.plain(at.one())
    options = at.options
    options.only(lora_rank=None, quantization_config=None, input_length=None)
    l1, l2 = regularizer(options.take("embeddings_regularizer"))
    masked = options.flag("mask_zero")
    layer = nn.EmbeddingSequence(
        vocabulary_size=options.size("input_dim"),
        units=options.size("output_dim"),
        padding_id=0 if masked else None,
        initializer=initializer(options.take("embeddings_initializer", "uniform")),
        l1=l1,
        l2=l2,
        constraints=constraint(options.take("embeddings_constraint")),
        activation="identity",
    )
    options.need(len(x.shape) == 1, "input shape", x.shape)
    mask = mask_of_words(x) if masked else None
    return at.add(layer, x, takes=[Take(ours="W")], mask=mask)


def function(at):
    """Adds Keras's Activation."""
    return apply(at, activation(at.options.take("activation"), at.version))


def apply(at, chosen):
    x = at.one()
    check_softmax(chosen, x)
    return at.add(nn.Activation(chosen), x)


def relu(at):
    """Adds Keras's ReLU layer, with its upper bound, and slope below a threshold."""
    options = at.options
    top = options.take("max_value")
    slope = options.take("negative_slope", 0.0) or 0.0
    threshold = options.take("threshold", 0.0) or 0.0
    if top is None and threshold == 0:
        return apply(at, {"type": "leaky_relu", "alpha": slope} if slope else "relu")
    options.need(slope == 0, "negative_slope", slope)
    if top is None:
        return apply(at, {"type": "thresholded_relu", "threshold": threshold})
    options.need(threshold == 0, "threshold", threshold)
    return apply(at, {"type": "clip", "low": 0.0, "high": top})


def leaky_relu(at):
    default = at.options.take("alpha", 0.3)
    return apply(at, {"type": "leaky_relu", "alpha": at.options.number("negative_slope", default)})


def elu(at):
    return apply(at, {"type": "elu", "alpha": at.options.number("alpha", 1.0)})


def thresholded_relu(at):
    return apply(at, {"type": "thresholded_relu", "threshold": at.options.number("theta", 1.0)})


def softmax(at):
    """Adds softmax along any axis, which is brought to where ours is: see `over_channels`."""
    x = at.one()
    no_masks([x], "Softmax")
    rank, axis = len(x.shape), at.options.take("axis", -1)
    axis = axis[0] if isinstance(axis, list) and len(axis) == 1 else axis
    place, layer = example_axis(axis, rank), nn.Activation("softmax")
    at.options.need(place is not None, "axis", axis)
    if place == rank - 1:
        return at.add(layer, at.first(x))
    x = at.plain(x)
    if rank > 2 and place == 0:
        return at.add(layer, x)
    rest = [other for other in range(rank) if other != place]
    order = (*rest, place) if rank == 2 else (place, *rest)
    y = at.add(nn.Permute(order=order), x, helper=True)
    back = tuple(order.index(each) for each in range(rank))
    return at.add(nn.Permute(order=back), at.add(layer, y), helper=True)


def prelu(at):
    """Adds a PRelu, whose alpha must be shared along all axes but features or channels."""
    x = at.first(at.one())
    rank, shared = len(x.shape), at.options.take("shared_axes") or []
    at.options.need(sorted(shared) == list(range(1, rank)), "shared_axes", shared)
    l1, l2 = regularizer(at.options.take("alpha_regularizer"))
    layer = nn.PRelu(
        initializer=initializer(at.options.take("alpha_initializer", "zeros")),
        l1=l1,
        l2=l2,
        constraints=constraint(at.options.take("alpha_constraint"), tuple(range(rank))),
    )
    alpha = Take(ours="alpha", change=flat, shape=lambda shape: (1,) * (rank - 1) + shape)
    return at.add(layer, x, takes=[alpha])


DENSE = {
    "Dense": dense,
    "Embedding": embedding,
    "Activation": function,
    "ReLU": relu,
    "LeakyReLU": leaky_relu,
    "ELU": elu,
    "ThresholdedReLU": thresholded_relu,
    "Softmax": softmax,
    "PReLU": prelu,
}
