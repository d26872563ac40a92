"""Strided convolutions of images with few channels, as ones of blocks without stride.

Tensor cores need many channels. AlexNet's first layer, an 11 x 11 convolution of 3 channels with
stride 4, is a 3 x 3 convolution of 48 channels without stride; with 3 channels padded to 8, most of
its work would be zeros. If a size is not a multiple of the stride, pixels next to a window are also
read, with weight 0: they matter only if they are infinite or NaN.
"""

from math import prod

from sparkdl.engine.backends.cuda.lowerings.space_to_depth import TOGETHER, SpaceToDepthOp
from sparkdl.engine.backends.cuda.rewrites.cudnn_images import IMAGES, has_few_channels
from sparkdl.engine.fusion import fuse
from sparkdl.engine.ops.shape import CastOp, pad, reshape, slice, transpose
from sparkdl.engine.ops.spatial.conv import ConvGradWeightOp, ConvOp


def gather_strides(graph):
    """Returns the graph with such convolutions and their weights' gradients on blocks."""
    made = {}

    def blocks_of(x, plan):
        if (x, plan) not in made:
            made[x, plan] = plan(uncast(x))
        return made[x, plan]

    def rule(node, inputs, uses):
        op, image = node.op, IMAGES.get(type(node.op))
        if image is None or not gains(op, node.inputs[image]):
            return None
        out = (node.outputs[0] if image == 0 else node.inputs[0]).shape[2:]
        whole, plan = planned(op, node.inputs[image].spec, out)
        options = whole, (1, 1), ((0, 0), (0, 0)), (1, 1), 1
        x = blocks_of(inputs[image], plan)
        if image == 0:
            return ConvOp(*options)(
                x, filters_of_blocks(inputs[1], op.stride[0], whole, plan.channels)
            )
        gw = ConvGradWeightOp(*options)(inputs[0], x)
        return filters_of_places(gw, op.stride[0], node.outputs[0].shape)

    return fuse(graph, (rule,))


def gains(op, x):
    """Returns whether a convolution has an image of few narrow channels and one stride > 1."""
    image = x.ndim == 4 and has_few_channels(x, op) and prod(x.shape) > 0
    return image and op.stride[0] == op.stride[1] > 1 and set(op.dilation) == {1}


def planned(op, x, out):
    """Returns (size of the filters of blocks, SpaceToDepthOp)."""
    block = op.stride[0]
    whole = tuple(-(-size // block) for size in op.size)
    space = tuple(n + size - 1 for n, size in zip(out, whole, strict=True))
    channels = -(-x.shape[1] * block**2 // TOGETHER) * TOGETHER
    before = tuple(first for first, _ in op.padding)
    return whole, SpaceToDepthOp(block, before, space, channels, x.dtype)


def uncast(x):
    """Returns the float32 tensor that was cast to x, or x: blocks are made from it directly."""
    node = x.node
    wide = (
        node is not None and isinstance(node.op, CastOp) and node.inputs[0].spec.dtype == "float32"
    )
    return node.inputs[0] if wide else x


def filters_of_blocks(w, block, whole, channels):
    """Returns w (O, C, *size) as (O, channels, *whole), zero where a block exceeds the filter."""
    o, c, *size = w.shape
    behind = tuple(n * block - s for n, s in zip(whole, size, strict=True))
    w = reshape(pad(w, (0,) * 4, (0, 0, *behind)), (o, c, whole[0], block, whole[1], block))
    w = reshape(transpose(w, (0, 3, 5, 1, 2, 4)), (o, block * block * c, *whole))
    return pad(w, (0,) * 4, (0, channels - w.shape[1], 0, 0))


def filters_of_places(gw, block, shape):
    """Returns the gradient of w (O, C, *size) from that of `filters_of_blocks`."""
    o, c, *_ = shape
    whole = gw.shape[2:]
    gw = slice(gw, (0,) * 4, (o, block * block * c, *whole))
    gw = transpose(reshape(gw, (o, block, block, c, *whole)), (0, 3, 4, 1, 5, 2))
    gw = reshape(gw, (o, c, whole[0] * block, whole[1] * block))
    return slice(gw, (0,) * 4, shape)
