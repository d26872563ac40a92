"""Layers for aten operations that move or repeat the pixels of images."""

from sparkdl.nn import layers as nn


def upsample(kind):
    """Returns the rule of enlarging images by whole factors."""

    def translate(node):
        x = node.place()
        factors = [n // m for n, m in zip(node.shape[1:], x.shape[1:], strict=True)]
        whole = node.shape[1:] == tuple(n * m for n, m in zip(x.shape[1:], factors, strict=True))
        node.need(whole and not node["align_corners"], f"enlarging {x.shape} to {node.shape}")
        return node.add(nn.UpSampling2D(size=tuple(factors), interpolation=kind), x)

    return translate


def pixel_shuffle(node):
    """Makes blocks of pixels of the channels."""
    x, block = node.place(), node["upscale_factor"]
    channels, rows, columns = x.shape
    apart = (channels // block**2, block, block, rows, columns)
    return rearrange(node, apart, (0, 3, 1, 4, 2))


def pixel_unshuffle(node):
    """Makes channels of blocks of pixels."""
    x, block = node.place(), node["downscale_factor"]
    channels, rows, columns = x.shape
    apart = (channels, rows // block, block, columns // block, block)
    return rearrange(node, apart, (0, 2, 4, 1, 3))


def channel_shuffle(node):
    x, groups = node.place(), node["groups"]
    apart = (groups, -1, *x.shape[1:])
    order = (1, 0, *range(2, len(x.shape) + 1))
    return rearrange(node, apart, order)


def rearrange(node, shape, order):
    """Returns the input in another shape, with its axes permuted, in the shape of the result."""
    apart = node.add(nn.Reshape(shape=shape), node.place())
    return node.add(nn.Reshape(shape=node.shape), node.add(nn.Permute(order=order), apart))


def pad(node):
    """Adds zeros around images."""
    x, amounts = node.place("self"), node["pad"]
    zero = node["mode"] == "constant" and not node["value"]
    images = len(x.shape) == 3 and len(amounts) <= 4 and min(amounts) >= 0
    node.need(zero and images, f"padding {x.shape} by {amounts} with {node['mode']}")
    left, right, above, below = (*amounts, 0, 0)[:4]
    return node.add(nn.ZeroPadding2D(amount=((above, below), (left, right))), x)


IMAGE_RULES = {
    "channel_shuffle": channel_shuffle,
    "pad": pad,
    "pixel_shuffle": pixel_shuffle,
    "pixel_unshuffle": pixel_unshuffle,
    "upsample_bilinear2d": upsample("bilinear"),
    "upsample_nearest2d": upsample("nearest"),
}
