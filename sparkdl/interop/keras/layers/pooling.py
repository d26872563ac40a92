"""Pooling."""

from functools import partial

from sparkdl.nn import layers as nn

POOLS = {
    "Max": {1: nn.MaxPool1D, 2: nn.MaxPool2D, 3: nn.MaxPool3D},
    "Average": {1: nn.AvgPool1D, 2: nn.AvgPool2D, 3: nn.AvgPool3D},
}
GLOBAL = {"Max": "max", "Average": "avg"}


def pool(kind, axes, at):
    x = at.images(at.unmasked(at.one()))
    size = at.options.sizes("pool_size", axes, 2)
    stride = at.options.take("strides")
    padding = at.options.take("padding", "valid")
    at.options.need(padding in ("valid", "same"), "padding", padding)
    layer = POOLS[kind][axes](
        size=size,
        stride=size if stride is None else at.options.sizes("strides", axes),
        padding=0 if padding == "valid" else padding,
    )
    return at.add(layer, x)


def global_pool(kind, axes, at):
    x = at.one() if kind == "Average" else at.unmasked(at.one())  # Keras's maximum is of all steps
    x = at.images(x)
    at.options.need(len(x.shape) == axes + 1, "input shape", x.shape)
    y = at.add(nn.GlobalPool(kind=GLOBAL[kind]), x, turned=False, mask=None)
    if not at.options.flag("keepdims"):
        return y
    ones = (1,) * axes
    last = x.turned or len(x.shape) == 2
    shape = (*ones, *y.shape) if last else (*y.shape, *ones)
    return at.add(nn.Reshape(shape=shape), y, helper=True)


POOLING = {
    f"{kind}Pooling{n}D": partial(pool, kind, n) for kind, each in POOLS.items() for n in each
} | {
    f"Global{kind}Pooling{n}D": partial(global_pool, kind, n) for kind in GLOBAL for n in (1, 2, 3)
}
