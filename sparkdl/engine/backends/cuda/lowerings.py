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
from sparkdl.engine.backends.cuda.channels import MomentsOp, SlopesOp
from sparkdl.engine.backends.cuda.cudnn import convolutions as graphs
from sparkdl.engine.backends.cuda.cudnn.drawn import DrawnOp, lower_drawn
from sparkdl.engine.backends.cuda.followed import FollowedOp
from sparkdl.engine.backends.cuda.recurrent import WalkGradOp, WalkOp
from sparkdl.engine.chains import ChainOp
from sparkdl.engine.fusion import BiasActivationOp
from sparkdl.engine.layouts import RelayoutOp
from sparkdl.engine.maxima import MaxPoolToPlacesOp, MaxPoolWithPlacesOp
from sparkdl.engine.ops.attention import HeadMixOp, HeadScoresOp
from sparkdl.engine.ops.conv import ConvGradInputOp, ConvGradWeightOp, ConvOp
from sparkdl.engine.ops.gather import GatherOp, ScatterAddOp
from sparkdl.engine.ops.lrn import LrnGradOp, LrnOp
from sparkdl.engine.ops.matmul import MatMulOp
from sparkdl.engine.ops.pool import (
    AvgPoolGradOp,
    AvgPoolOp,
    MaxPoolGradOp,
    MaxPoolOp,
    MaxPoolPickOp,
)
from sparkdl.engine.ops.random import NormalOp, UniformOp
from sparkdl.engine.ops.reduce import EqualOp, MaxOp, SumOp
from sparkdl.engine.ops.resize import ResizeGradOp, ResizeOp
from sparkdl.engine.ops.sequence import ImageToSequenceOp, SequenceToImageOp
from sparkdl.engine.ops.shape import (
    BroadcastToOp,
    CastOp,
    ConcatOp,
    CopyOp,
    PadOp,
    SliceOp,
    SumToOp,
    TransposeOp,
)
from sparkdl.engine.ops.softmax import (
    LogSoftmaxGradOp,
    LogSoftmaxOp,
    OneHotOp,
    SoftmaxCrossEntropyOp,
    SoftmaxGradOp,
    SoftmaxOp,
)
from sparkdl.engine.ops.time import ReverseTimeOp
from sparkdl.engine.ops.unfold import FoldOp, UnfoldOp
from sparkdl.errors import UnsupportedError


def has_kernel(node):
    """Returns whether a node is lowered as it is; else it is decomposed."""
    if isinstance(node.op, BiasActivationOp):
        return products.fuses(node.op)
    return node.op.view or lowering(node.op) is not None


def lowering(op):
    """Returns the function (session, op, inputs, outputs) -> (calls, kernel's name), or None."""
    return LOWERINGS.get(type(op)) or (chains.chain if type(op) in chains.OPERATIONS else None)


def plainly(make):
    """Returns a lowering that takes the node's arrays one after the other."""
    return lambda session, op, inputs, outputs: make(session, op, *inputs, *outputs)


def drawn_first(library, own):
    """Makes a lowering by cuDNN's graphs, or by our own kernel if there are none or they refuse."""

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
    convolves = isinstance(op.product, ConvOp | ConvGradInputOp)
    make = drawn_first(graphs.bias_activation, own) if convolves else own
    return make(session, op, *arrays)


LOWERINGS = {
    ChainOp: chains.chain,
    BroadcastToOp: chains.copy_array,
    CastOp: chains.copy_array,
    CopyOp: chains.copy_array,
    EqualOp: chains.chain,
    OneHotOp: chains.one_hot,
    RelayoutOp: plainly(copies.relayout),
    TransposeOp: plainly(copies.transpose),
    SliceOp: plainly(copies.copy_view),
    SequenceToImageOp: plainly(copies.copy_view),
    ImageToSequenceOp: plainly(copies.copy_view),
    ConcatOp: plainly(joins.concat),
    PadOp: plainly(copies.pad),
    MomentsOp: plainly(channels.moments),
    SlopesOp: plainly(channels.slopes),
    SumOp: plainly(reductions.sum_along),
    MaxOp: plainly(reductions.max_along),
    SumToOp: plainly(reductions.sum_to),
    MatMulOp: plainly(products.matmul),
    BiasActivationOp: plainly(bias_activation),
    FollowedOp: products.lower_followed,
    WalkOp: recurrent.forward,
    WalkGradOp: recurrent.backward,
    SoftmaxOp: plainly(softmax.forward),
    LogSoftmaxOp: plainly(softmax.forward),
    SoftmaxGradOp: plainly(softmax.backward),
    LogSoftmaxGradOp: plainly(softmax.backward),
    SoftmaxCrossEntropyOp: plainly(softmax.cross_entropy),
    UniformOp: plainly(draws.draw),
    NormalOp: plainly(draws.draw),
    HeadScoresOp: plainly(heads.scores),
    HeadMixOp: plainly(heads.mix),
    ConvOp: plainly(drawn_first(graphs.forward, convolutions.forward)),
    ConvGradInputOp: plainly(drawn_first(graphs.backward_input, convolutions.backward_input)),
    ConvGradWeightOp: plainly(drawn_first(graphs.backward_weights, convolutions.backward_weights)),
    DrawnOp: lower_drawn,
    MaxPoolOp: plainly(pooling.maxima),
    MaxPoolGradOp: plainly(pooling.backward),
    MaxPoolPickOp: plainly(pooling.lower_max_pick),
    MaxPoolWithPlacesOp: plainly(pooling.maxima),
    MaxPoolToPlacesOp: plainly(pooling.to_places),
    AvgPoolOp: plainly(pooling.mean),
    AvgPoolGradOp: plainly(pooling.mean_backward),
    LrnOp: plainly(lrns.forward),
    LrnGradOp: plainly(lrns.backward),
    UnfoldOp: plainly(unfolding.unfold),
    FoldOp: plainly(unfolding.fold),
    ResizeOp: plainly(resizing.forward),
    ResizeGradOp: plainly(resizing.backward),
    GatherOp: plainly(gathers.gather),
    ScatterAddOp: plainly(gathers.scatter_add),
    ReverseTimeOp: plainly(reversal.reverse_time),
}
