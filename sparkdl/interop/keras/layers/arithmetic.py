"""Element-wise layers, and noise in training."""

from sparkdl.interop.keras.automatic_masks import mask_of_numbers
from sparkdl.interop.keras.places import no_masks
from sparkdl.nn import layers as nn


def rescaling(at):
    scale, offset = at.options.number("scale"), at.options.number("offset", 0.0)
    return at.add(nn.Rescaling(scale=scale, offset=offset), at.one())


def identity(at):
    return at.add(nn.Activation("identity"), at.one())


def plain_dropout(at):
    """Adds a Dropout, or a StochasticDepth where one number is drawn for each example."""
    x, axes = at.one(), at.options.take("noise_shape")
    whole = axes is not None and list(axes[1:]) == [1] * len(x.shape) and axes[0] is None
    at.options.need(axes is None or whole, "noise_shape", axes)
    kind = nn.StochasticDepth if whole else nn.Dropout
    return at.add(kind(rate=at.options.number("rate")), x)


def dropout(kind):
    """Returns the rule for a dropout with only a rate."""

    def translate(at):
        at.options.only(noise_shape=None)
        return at.add(kind(rate=at.options.number("rate")), at.one())

    return translate


def spatial_dropout(at):
    x = at.images(at.one())
    return at.add(nn.SpatialDropout(rate=at.options.number("rate")), x)


def gaussian_noise(at):
    return at.add(nn.GaussianNoise(std=at.options.number("stddev")), at.one())


def masking(at):
    x = at.one()
    no_masks([x], "Masking")
    padding = at.options.number("mask_value", 0.0)
    return at.add(nn.Masking(value=padding), x, mask=mask_of_numbers(x, padding))


DROPOUTS = {
    "Dropout": nn.Dropout,
    "AlphaDropout": nn.AlphaDropout,
    "GaussianDropout": nn.GaussianDropout,
}
ARITHMETIC = {
    "Rescaling": rescaling,
    "Identity": identity,
    **{name: dropout(kind) for name, kind in DROPOUTS.items()},
    "Dropout": plain_dropout,
    "GaussianNoise": gaussian_noise,
    "Masking": masking,
    **{f"SpatialDropout{n}D": spatial_dropout for n in (1, 2, 3)},
}
