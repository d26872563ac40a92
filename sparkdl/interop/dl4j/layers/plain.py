"""Layers without weights, or with a factor per channel."""

from sparkdl.interop.dl4j.layers.convolution import channels_first, sizes
from sparkdl.interop.dl4j.layers.dense import activated
from sparkdl.interop.dl4j.places import array
from sparkdl.nn import layers as nn

SUMMARIES = {"avg": "avg", "max": "max", "sum": "sum", "pnorm": "lp"}


def activation_layer(at):
    x = at.one()
    return at.add(nn.Activation(activated(at, x)["activation"]), x)


def dropout(at):
    """Adds nothing: the dropout is applied before each layer that asks for it."""
    at.unused("nin", "nout", "activationfn")
    return at.add(nn.Activation("identity"), at.one())


def global_pool(at):
    x, kind = at.one(), at.options.word("poolingtype", "max")
    at.options.need(kind in SUMMARIES, "poolingType", kind)
    at.options.only(collapsedimensions=True)
    every = list(range(2, len(x.shape) + 1))
    given = at.options.take("poolingdimensions", every)
    at.options.need(given in (every, []), "poolingDimensions", given)
    norm = at.options.number("pnorm", 2)
    more = {"p": float(norm)} if kind == "pnorm" else {}
    return at.add(nn.GlobalPool(kind=SUMMARIES[kind], **more), x)


def borders(layers):
    """Returns the rule for layers that add or remove borders.

    Borders are [top, bottom, left, right] or [first, last].
    """

    def translate(axes, at, name):
        channels_first(at)
        value = at.options.take(name)
        sound = isinstance(value, list) and len(value) == 2 * axes
        at.options.need(sound and all(type(n) is int for n in value), name, value)
        pairs = tuple((value[i], value[i + 1]) for i in range(0, len(value), 2))
        return at.add(layers[axes](amount=pairs[0] if axes == 1 else pairs), at.one())

    return translate


pad = borders({1: nn.ZeroPadding1D, 2: nn.ZeroPadding2D})
crop = borders({1: nn.Cropping1D, 2: nn.Cropping2D})


def upsample(axes, at):
    channels_first(at)
    layer = {1: nn.UpSampling1D, 2: nn.UpSampling2D}[axes]
    return at.add(layer(size=sizes(at.options, "size", axes)), at.one())


def lrn(at):
    """Adds an LRN; Deeplearning4j's alpha applies to the sum, sparkdl's to the mean."""
    channels_first(at)
    size = at.options.number("n", 5)
    at.options.need(size == int(size), "n", size)
    layer = nn.LRN(
        size=int(size),
        alpha=at.options.number("alpha", 1e-4) * size,
        beta=at.options.number("beta", 0.75),
        k=at.options.number("k", 2.0),
    )
    return at.add(layer, at.one())


def space_to_depth(at):
    channels_first(at)
    block = sizes(at.options, "blocksize", 2)
    at.options.need(block[0] == block[1], "blockSize", block)
    at.unused("blocks")
    return at.add(nn.SpaceToDepth(block=block[0]), at.one())


def repeat(at):
    x, steps = at.rows(at.one()), at.options.size("n", 1)
    at.unused("dataformat", "nin", "nout")
    one = at.add(nn.Reshape(shape=(1, *x.shape)), x, helper=True)
    return at.add(nn.UpSampling1D(size=steps), one)


def prelu(at):
    """Adds a PRelu with a slope per feature or channel."""
    x = at.one()
    at.unused("inputshape", "nin", "nout", "activationfn")
    shared = at.options.take("sharedaxes", [])
    every = list(range(2, len(x.shape) + 1))
    at.options.need(len(x.shape) != 2 and sorted(shared) == every, "sharedAxes", shared)
    layer = nn.PRelu(**at.trained(penalized=False))
    return at.add(layer, x, takes=[array("alpha", (x.shape[0],))])


PLAIN = {
    "activation": activation_layer,
    "cropping1d": lambda at: crop(1, at, "cropping"),
    "cropping2d": lambda at: crop(2, at, "cropping"),
    "dropout": dropout,
    "globalpooling": global_pool,
    "localresponsenormalization": lrn,
    "prelu": prelu,
    "repeatvector": repeat,
    "spacetodepth": space_to_depth,
    "upsampling1d": lambda at: upsample(1, at),
    "upsampling2d": lambda at: upsample(2, at),
    "zeropadding": lambda at: pad(2, at, "padding"),
    "zeropadding1d": lambda at: pad(1, at, "padding"),
}
