"""The lowering of each operation to kernels."""

from sparkdl.engine.backends.cuda.cudnn import convolutions as graphs
from sparkdl.engine.backends.cuda.cudnn.graph_op import CudnnGraphOp, lower_graph
from sparkdl.engine.backends.cuda.lowerings import (
    attention_heads,
    chains,
    channels,
    concatenation,
    convolutions,
    copies,
    draws,
    gathers,
    lrn,
    pooling,
    products,
    recurrent,
    reductions,
    resizing,
    reversal,
    softmax,
    unfolding,
)
from sparkdl.engine.backends.cuda.lowerings.channels import MomentsOp, SlopesOp
from sparkdl.engine.backends.cuda.lowerings.product_epilogue import EpilogueProductOp
from sparkdl.engine.backends.cuda.lowerings.recurrent import WalkGradOp, WalkOp
from sparkdl.engine.backends.cuda.lowerings.space_to_depth import SpaceToDepthOp, space_to_depth
from sparkdl.engine.chains import ChainOp
from sparkdl.engine.fusion import BiasActivationOp
from sparkdl.engine.layouts import RelayoutOp
from sparkdl.engine.maxima import MaxPoolToPlacesOp, MaxPoolWithPlacesOp
from sparkdl.engine.ops.attention import HeadMixOp, HeadScoresOp
from sparkdl.engine.ops.gather import GatherOp, ScatterAddOp
from sparkdl.engine.ops.matmul import MatMulOp
from sparkdl.engine.ops.random import NormalOp, UniformOp
from sparkdl.engine.ops.reduce import EqualOp, MaxOp, SumOp
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
    SoftmaxCrossEntropyGradOp,
    SoftmaxCrossEntropyOp,
    SoftmaxGradOp,
    SoftmaxOp,
)
from sparkdl.engine.ops.spatial.conv import ConvGradInputOp, ConvGradWeightOp, ConvOp
from sparkdl.engine.ops.spatial.lrn import LrnGradOp, LrnOp
from sparkdl.engine.ops.spatial.pool import (
    AvgPoolGradOp,
    AvgPoolOp,
    MaxPoolGradOp,
    MaxPoolOp,
    MaxPoolPickOp,
)
from sparkdl.engine.ops.spatial.resize import ResizeGradOp, ResizeOp
from sparkdl.engine.ops.spatial.sequence import ImageToSequenceOp, SequenceToImageOp
from sparkdl.engine.ops.spatial.unfold import FoldOp, UnfoldOp
from sparkdl.engine.ops.time_steps import ReverseTimeOp
from sparkdl.errors import UnsupportedError


def has_kernel(node):
    """Returns whether a node is lowered as it is; otherwise it is decomposed."""
    if isinstance(node.op, BiasActivationOp):
        return products.fuses(node.op)
    return node.op.view or lowering(node.op) is not None


def lowering(op):
    """Returns the function (session, op, inputs, outputs) -> (calls, kernel's name), or None."""
    return LOWERINGS.get(type(op)) or (chains.chain if type(op) in chains.OPERATIONS else None)


def spread_arrays(make):
    """Returns a lowering that takes the node's arrays as separate arguments."""
    return lambda session, op, inputs, outputs: make(session, op, *inputs, *outputs)


def prefer_graph(library, fallback):
    """Returns a lowering by cuDNN's graphs, or by our own kernel if that is not possible."""

    def make(session, op, *arrays):
        if session.libraries.graphs is None:
            return fallback(session, op, *arrays)
        try:
            return library(session, op, *arrays)
        except UnsupportedError as error:
            return *fallback(session, op, *arrays), f"cuDNN: {error}"

    return make


def bias_activation(session, op, *arrays):
    fallback = products.bias_activation
    convolves = isinstance(op.product, ConvOp | ConvGradInputOp)
    make = prefer_graph(graphs.bias_activation, fallback) if convolves else fallback
    return make(session, op, *arrays)


LOWERINGS = {
    ChainOp: chains.chain,
    BroadcastToOp: chains.copy_array,
    CastOp: chains.copy_array,
    CopyOp: chains.copy_array,
    EqualOp: chains.chain,
    OneHotOp: chains.one_hot,
    RelayoutOp: spread_arrays(copies.relayout),
    TransposeOp: spread_arrays(copies.transpose),
    SliceOp: spread_arrays(copies.copy_view),
    SequenceToImageOp: spread_arrays(copies.copy_view),
    ImageToSequenceOp: spread_arrays(copies.copy_view),
    ConcatOp: spread_arrays(concatenation.concat),
    PadOp: spread_arrays(copies.pad),
    MomentsOp: spread_arrays(channels.moments),
    SlopesOp: spread_arrays(channels.slopes),
    SumOp: spread_arrays(reductions.sum_along),
    MaxOp: spread_arrays(reductions.max_along),
    SumToOp: spread_arrays(reductions.sum_to),
    MatMulOp: spread_arrays(products.matmul),
    BiasActivationOp: spread_arrays(bias_activation),
    EpilogueProductOp: products.lower_epilogue_product,
    WalkOp: recurrent.forward,
    WalkGradOp: recurrent.backward,
    SoftmaxOp: spread_arrays(softmax.forward),
    LogSoftmaxOp: spread_arrays(softmax.forward),
    SoftmaxGradOp: spread_arrays(softmax.backward),
    LogSoftmaxGradOp: spread_arrays(softmax.backward),
    SoftmaxCrossEntropyOp: spread_arrays(softmax.cross_entropy),
    SoftmaxCrossEntropyGradOp: spread_arrays(softmax.cross_entropy_backward),
    UniformOp: spread_arrays(draws.draw),
    NormalOp: spread_arrays(draws.draw),
    HeadScoresOp: spread_arrays(attention_heads.scores),
    HeadMixOp: spread_arrays(attention_heads.mix),
    ConvOp: spread_arrays(prefer_graph(graphs.forward, convolutions.forward)),
    ConvGradInputOp: spread_arrays(
        prefer_graph(graphs.backward_input, convolutions.backward_input)
    ),
    ConvGradWeightOp: spread_arrays(
        prefer_graph(graphs.backward_weights, convolutions.backward_weights)
    ),
    CudnnGraphOp: lower_graph,
    MaxPoolOp: spread_arrays(pooling.maxima),
    MaxPoolGradOp: spread_arrays(pooling.backward),
    MaxPoolPickOp: spread_arrays(pooling.lower_max_pick),
    MaxPoolWithPlacesOp: spread_arrays(pooling.maxima),
    MaxPoolToPlacesOp: spread_arrays(pooling.to_places),
    AvgPoolOp: spread_arrays(pooling.mean),
    AvgPoolGradOp: spread_arrays(pooling.mean_backward),
    LrnOp: spread_arrays(lrn.forward),
    LrnGradOp: spread_arrays(lrn.backward),
    SpaceToDepthOp: spread_arrays(space_to_depth),
    UnfoldOp: spread_arrays(unfolding.unfold),
    FoldOp: spread_arrays(unfolding.fold),
    ResizeOp: spread_arrays(resizing.forward),
    ResizeGradOp: spread_arrays(resizing.backward),
    GatherOp: spread_arrays(gathers.gather),
    ScatterAddOp: spread_arrays(gathers.scatter_add),
    ReverseTimeOp: spread_arrays(reversal.reverse_time),
}
