"""Normalization."""

from math import prod

from sparkdl.interop.keras.members import initializer
from sparkdl.interop.keras.places import Take, example_axis, no_masks
from sparkdl.nn import layers as nn
from sparkdl.nn.layers.core.channels import channels_of

LEAST = 1e-24  # sum of squares below which Keras's UnitNormalization divides by 1e-12


def over_channels(at):
    """Returns the Place to normalize with its features or channels where ours are."""
    x, options = at.one(), at.options
    rank, axis = len(x.shape), options.take("axis", -1)
    axis = axis[0] if isinstance(axis, list) and len(axis) == 1 else axis
    place = example_axis(axis, rank)
    options.need(place == rank - 1 or (place == 0 and rank > 2), "axis", axis)
    return at.first(x) if place == rank - 1 else at.plain(x)


def batch_norm(at):
    x, options = over_channels(at), at.options
    layer = nn.BatchNorm(
        momentum=options.number("momentum", 0.99),
        epsilon=options.number("epsilon", 1e-3),
        scale=options.flag("scale", True),
        shift=options.flag("center", True),
    )
    check_training(options)
    options.only(synchronized=False, renorm=False)
    unused(options, "renorm_clipping", "renorm_momentum", "fused", "virtual_batch_size")
    unused(options, "moving_mean_initializer", "moving_variance_initializer")
    return at.add(layer, x, takes=[Take(ours=name) for name in arrays(layer)])


def arrays(layer):
    flags = {"gamma": layer.scale, "beta": layer.shift}
    return [*(name for name, flag in flags.items() if flag), "mean", "variance"]


def check_training(options):
    """Raises UnsupportedError for training options that gamma and beta do not have."""
    for name, first in {"gamma": "ones", "beta": "zeros"}.items():
        given = initializer(options.take(f"{name}_initializer", first))
        options.need(given == initializer(first), f"{name}_initializer", given)
        options.only(**{f"{name}_regularizer": None, f"{name}_constraint": None})


def unused(options, *names):
    """Ignores options that have no effect here."""
    for name in names:
        options.take(name)


def layer_norm(at):
    x, options = at.plain(at.one()), at.options
    rank, axis = len(x.shape), options.take("axis", -1)
    axes = {example_axis(one, rank) for one in (axis if isinstance(axis, list) else [axis])}
    options.need(axes and None not in axes, "axis", axis)
    if 0 in axes:
        no_masks([x], "LayerNormalization")  # Keras counts all steps
    layer = nn.LayerNorm(
        axes=tuple(sorted(axes)),
        epsilon=options.number("epsilon", 1e-3),
        scale=options.flag("scale", True),
        shift=options.flag("center", True),
    )
    check_training(options)
    options.only(rms_scaling=False)
    takes = [Take(ours=name) for name in arrays(layer)[:-2]]
    return at.add(layer, x, takes=takes)


def group_norm(at):
    x, options = over_channels(at), at.options
    if len(x.shape) == 2:
        no_masks([x], "GroupNormalization")  # Keras counts all steps
    groups = options.size("groups", 32)
    layer = nn.GroupNorm(
        groups=channels_of(x.shape)[0] if groups == -1 else groups,
        epsilon=options.number("epsilon", 1e-3),
        scale=options.flag("scale", True),
        shift=options.flag("center", True),
    )
    check_training(options)
    return at.add(layer, x, takes=[Take(ours=name) for name in arrays(layer)[:-2]])


def rms_norm(at):
    """Normalizes along the last axis; along others Keras applies its factors to the last one."""
    x, axis = at.first(at.unmasked(at.one())), at.options.take("axis", -1)
    at.options.need(axis in (-1, len(x.shape), [-1], [len(x.shape)]), "axis", axis)
    layer = nn.RMSNorm(epsilon=at.options.number("epsilon", 1e-6))
    return at.add(layer, x, takes=[Take(ours="gamma")])


def unit_norm(at):
    """Divides whole examples, or what lies along their last axis, by their length."""
    x = at.one()
    no_masks([x], "UnitNormalization")  # Keras leaves steps that a mask leaves out as they are
    layer, rank, axis = nn.L2Normalize(epsilon=LEAST), len(x.shape), at.options.take("axis", -1)
    axes = {example_axis(one, rank) for one in (axis if isinstance(axis, list) else [axis])}
    if axes == set(range(rank)):
        return at.add(layer, x)
    at.options.need(axes == {rank - 1}, "axis", axis)
    x, layer = at.plain(x), nn.TimeDistributed(layer=layer)
    if rank == 2:
        return at.add(layer, x)
    rows = at.add(nn.Reshape(shape=(prod(x.shape[:-1]), x.shape[-1])), x, helper=True)
    return at.add(nn.Reshape(shape=x.shape), at.add(layer, rows), helper=True)


NORMALIZATION = {
    "BatchNormalization": batch_norm,
    "GroupNormalization": group_norm,
    "LayerNormalization": layer_norm,
    "RMSNormalization": rms_norm,
    "UnitNormalization": unit_norm,
}
