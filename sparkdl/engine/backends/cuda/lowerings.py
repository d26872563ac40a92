"""Lowerings of operations to kernels, one row for each operation."""

from sparkdl.engine.backends.cuda import (
    chains,
    channels,
    convolutions,
    copies,
    draws,
    gathers,
    heads,
    joins,
    lrns,
    pooling,
    products,
    recurrent,
    reductions,
    resizing,
    reversal,
    softmax,
    unfolding,
)
from sparkdl.engine.backends.cuda.channels import Moments, Slopes
from sparkdl.engine.backends.cuda.cudnn import convolutions as graphs
from sparkdl.engine.backends.cuda.cudnn.drawn import Drawn, lower_drawn
from sparkdl.engine.backends.cuda.followed import Followed
from sparkdl.engine.backends.cuda.recurrent import Walk, WalkGrad
from sparkdl.engine.chains import Chain
from sparkdl.engine.fusion import BiasActivation
from sparkdl.engine.layouts import Relayout
from sparkdl.engine.maxima import MaxPoolToPlaces, MaxPoolWithPlaces
from sparkdl.engine.ops.attention import HeadMix, HeadScores
from sparkdl.engine.ops.conv import Conv, ConvGradInput, ConvGradWeight
from sparkdl.engine.ops.gather import Gather, ScatterAdd
from sparkdl.engine.ops.lrn import Lrn, LrnGrad
from sparkdl.engine.ops.matmul import MatMul
from sparkdl.engine.ops.pool import AvgPool, AvgPoolGrad, MaxPool, MaxPoolGrad, MaxPoolPick
from sparkdl.engine.ops.random import Normal, Uniform
from sparkdl.engine.ops.reduce import Equal, Max, Sum
from sparkdl.engine.ops.resize import Resize, ResizeGrad
from sparkdl.engine.ops.sequence import ImageToSequence, SequenceToImage
from sparkdl.engine.ops.shape import (
    BroadcastTo,
    Cast,
    Concat,
    Copy,
    Pad,
    Slice,
    SumTo,
    Transpose,
)
from sparkdl.engine.ops.softmax import (
    LogSoftmax,
    LogSoftmaxGrad,
    OneHot,
    Softmax,
    SoftmaxCrossEntropy,
    SoftmaxGrad,
)
from sparkdl.engine.ops.time import ReverseTime
from sparkdl.engine.ops.unfold import Fold, Unfold
from sparkdl.errors import UnsupportedError


def has_kernel(node):
    """Returns whether a node is lowered as it is; else it is decomposed."""
    if isinstance(node.op, BiasActivation):
        return products.fuses(node.op)
    return node.op.view or lowering(node.op) is not None


def lowering(op):
    """The function (session, op, inputs, outputs) -> (calls, kernel's name), or None."""
    return LOWERINGS.get(type(op)) or (chains.chain if type(op) in chains.OPERATIONS else None)


def plainly(make):
    """A lowering that takes the node's arrays one after the other."""
    return lambda session, op, inputs, outputs: make(session, op, *inputs, *outputs)


def drawn_first(library, own):
    """A lowering by cuDNN's graphs, or by our own kernel where there are none or they refuse."""

    def make(session, op, *arrays):
        if session.libraries.graphs is None:
            return own(session, op, *arrays)
        try:
            return library(session, op, *arrays)
        except UnsupportedError as error:
            return *own(session, op, *arrays), f"cuDNN: {error}"

    return make


def bias_activation(session, op, *arrays):
    own = products.bias_activation
    convolves = isinstance(op.product, Conv | ConvGradInput)
    make = drawn_first(graphs.bias_activation, own) if convolves else own
    return make(session, op, *arrays)


LOWERINGS = {
    Chain: chains.chain,
    BroadcastTo: chains.copy_array,
    Cast: chains.copy_array,
    Copy: chains.copy_array,
    Equal: chains.chain,
    OneHot: chains.one_hot,
    Relayout: plainly(copies.relayout),
    Transpose: plainly(copies.transpose),
    Slice: plainly(copies.copy_view),
    SequenceToImage: plainly(copies.copy_view),
    ImageToSequence: plainly(copies.copy_view),
    Concat: plainly(joins.concat),
    Pad: plainly(copies.pad),
    Moments: plainly(channels.moments),
    Slopes: plainly(channels.slopes),
    Sum: plainly(reductions.sum_along),
    Max: plainly(reductions.max_along),
    SumTo: plainly(reductions.sum_to),
    MatMul: plainly(products.matmul),
    BiasActivation: plainly(bias_activation),
    Followed: products.lower_followed,
    Walk: recurrent.forward,
    WalkGrad: recurrent.backward,
    Softmax: plainly(softmax.forward),
    LogSoftmax: plainly(softmax.forward),
    SoftmaxGrad: plainly(softmax.backward),
    LogSoftmaxGrad: plainly(softmax.backward),
    SoftmaxCrossEntropy: plainly(softmax.cross_entropy),
    Uniform: plainly(draws.draw),
    Normal: plainly(draws.draw),
    HeadScores: plainly(heads.scores),
    HeadMix: plainly(heads.mix),
    Conv: plainly(drawn_first(graphs.forward, convolutions.forward)),
    ConvGradInput: plainly(drawn_first(graphs.backward_input, convolutions.backward_input)),
    ConvGradWeight: plainly(drawn_first(graphs.backward_weights, convolutions.backward_weights)),
    Drawn: lower_drawn,
    MaxPool: plainly(pooling.maxima),
    MaxPoolGrad: plainly(pooling.backward),
    MaxPoolPick: plainly(pooling.lower_max_pick),
    MaxPoolWithPlaces: plainly(pooling.maxima),
    MaxPoolToPlaces: plainly(pooling.to_places),
    AvgPool: plainly(pooling.mean),
    AvgPoolGrad: plainly(pooling.mean_backward),
    Lrn: plainly(lrns.forward),
    LrnGrad: plainly(lrns.backward),
    Unfold: plainly(unfolding.unfold),
    Fold: plainly(unfolding.fold),
    Resize: plainly(resizing.forward),
    ResizeGrad: plainly(resizing.backward),
    Gather: plainly(gathers.gather),
    ScatterAdd: plainly(gathers.scatter_add),
    ReverseTime: plainly(reversal.reverse_time),
}
