"""oneDNN on the CPU: products, convolutions, pooling, normalisation; numpy for the rest.

Images and volumes lie channels last in memory while their logical axes stay (N, C, H, W) and
(N, C, D, H, W): an array of the arena is a numpy view with those strides, so a numpy kernel reads
it just as well.

Results have the same bits in each run on as many threads. On another number some of oneDNN's
kernels add in another order, one part for each thread: products over a long axis, the gradients of
convolutions' weights, batch normalisation, gamma's and beta's gradients of layer normalisation,
gradients of recurrent layers and of overlapping maxima; their outputs then differ by 1e-7 to 1e-5
of the largest. Compiled loops do not: what a thread adds up follows from the shapes alone.
"""

from copy import copy
from functools import partial

import numpy as np

from sparkdl.engine.backends import reference
from sparkdl.engine.backends.base import Kernel
from sparkdl.engine.backends.onednn import (
    batch_norm_relu,
    column_sums,
    compiled,
    convolutions,
    copies,
    deconvolutions,
    elementwise,
    layer_norms,
    lrn_workspace,
    lrns,
    normalization,
    pooling,
    products,
    recurrent_workspace,
    resizing,
    rewrites,
    softmax,
    steps,
)
from sparkdl.engine.backends.onednn.api import TYPES, Session
from sparkdl.engine.chains import Chain, into_chains
from sparkdl.engine.fusion import BiasActivation, fuse
from sparkdl.engine.layouts import Relayout, relayouts, sequences_in_place
from sparkdl.engine.maxima import MaxPoolToPlaces, MaxPoolWithPlaces, maxima_remembered
from sparkdl.engine.native.chains import may_chain
from sparkdl.engine.native.jit import compiler
from sparkdl.engine.ops.activation import Relu, ReluGrad
from sparkdl.engine.ops.attention import HeadMix, HeadScores
from sparkdl.engine.ops.conv import Conv, ConvGradInput, ConvGradWeight
from sparkdl.engine.ops.elementwise import Add
from sparkdl.engine.ops.gelu import Gelu, GeluGrad
from sparkdl.engine.ops.layer_norm import LayerNorm, LayerNormGrad
from sparkdl.engine.ops.lrn import Lrn
from sparkdl.engine.ops.matmul import MatMul
from sparkdl.engine.ops.normalization import BatchNorm, BatchNormGrad, Normalize
from sparkdl.engine.ops.pool import AvgPool, AvgPoolGrad, MaxPool
from sparkdl.engine.ops.recurrent.grad import RecurrentGrad
from sparkdl.engine.ops.recurrent.gru import Gru
from sparkdl.engine.ops.recurrent.lstm import Lstm
from sparkdl.engine.ops.recurrent.simple_rnn import SimpleRnn
from sparkdl.engine.ops.resize import Resize, ResizeGrad
from sparkdl.engine.ops.shape import Cast, Concat, Slice, Transpose
from sparkdl.engine.ops.softmax import LogSoftmax, LogSoftmaxGrad, Softmax, SoftmaxGrad
from sparkdl.engine.types import BFLOAT16
from sparkdl.errors import UnsupportedError


class OneDnn(reference.Reference):
    """Kernels of oneDNN where it has them.

    Raises
    ------
    UnsupportedError
        When it is made and the library is not found.
    """

    name = "onednn"

    def __init__(self):
        super().__init__()
        self.session, self.compiler = Session(), None
        try:
            self.compiler = compiler()
        except UnsupportedError as error:
            self.note = str(error)
        self.rewrites = (
            fuse,
            maxima_remembered,
            lrn_workspace.share_lrn_workspaces,
            batch_norm_relu.with_relus,
            partial(recurrent_workspace.with_workspaces, self.session),
            rewrites.biases_with_weights,
            column_sums.of_features,
            relayouts,
            sequences_in_place,
            into_chains if self.compiler is None else partial(into_chains, may=may_chain),
        )

    def fresh(self):
        own = copy(self)
        own.session = self.session.fresh()
        return own

    def array(self, part, shape):
        """An array of the arena: images and volumes channels last."""
        if len(shape) not in (4, 5):
            return part.reshape(shape)
        n, c, *space = shape
        return np.moveaxis(part.reshape(n, *space, c), -1, 1)

    def lower(self, node, inputs, outputs):
        op = node.op
        if isinstance(op, Chain):
            return compiled.chain(op, inputs, outputs, self.compiler)
        make, why = LOWERINGS.get(type(op)), unfit(*inputs, *outputs)
        if make is None and any(a.dtype == BFLOAT16 for a in (*inputs, *outputs)):
            make = NARROW.get(type(op))
        if make is None and not why:
            make = COPIES.get(type(op))
        if make is None:
            kernel, why = compiled.compile_kernel(op, inputs, outputs, self.compiler)
            if kernel is not None:
                return kernel
        elif not why:
            try:
                self.session.next_kernel()
                calls, name = make(self.session, op, inputs, outputs)
                if not name.startswith("ref"):
                    return Kernel(calls[0] if len(calls) == 1 else partial(run_all, calls), name)
                why = "oneDNN has no fast kernel for these shapes"
            except UnsupportedError as error:
                why = str(error)
        plain = super().lower(node, inputs, outputs)
        return Kernel(plain.call, plain.name, why)


def unfit(*arrays):
    """Returns why oneDNN cannot take these arrays, or an empty text."""
    if any(a.dtype.name not in TYPES for a in arrays):
        return f"{' and '.join(TYPES)} only, got {sorted({a.dtype.name for a in arrays})}"
    if any(a.ndim == 0 for a in arrays):
        return "a single number"
    return "" if all(a.size for a in arrays) else "an empty batch"


def run_all(calls):
    for call in calls:
        call()


def bias_activation(session, op, inputs, outputs):
    x, w, b = inputs
    after = [] if op.activation is None else elementwise.after_product(op.activation)
    if isinstance(op.product, ConvGradInput):
        return deconvolutions.forward(session, op, x, w, b, outputs[0], after)
    make = products.forward if isinstance(op.product, MatMul) else convolutions.forward
    return make(session, op.product, x, w, outputs[0], b, after)


def plainly(make):
    """A lowering that takes the node's arrays one after the other."""
    return lambda session, op, inputs, outputs: make(session, op, *inputs, *outputs)


def weights_and_bias(session, op, inputs, outputs):
    return convolutions.backward_weights(session, op.product, *inputs, *outputs)


def max_to_places(session, op, inputs, outputs):
    gy, places = inputs
    return pooling.backward(session, op, gy, outputs[0], places)


def relayout(session, op, inputs, outputs):
    x, y = inputs[0], outputs[0]
    x, y = (x, y.reshape(x.shape)) if y.flags.c_contiguous else (x.reshape(y.shape), y)
    if not (np.shares_memory(x, inputs[0]) and np.shares_memory(y, outputs[0])):
        raise UnsupportedError("both sides are images in different orders")
    call = session.reorder(session.at(x), session.at(y))
    return [call], "reorder"


LOWERINGS = {
    MatMul: plainly(products.forward),
    BiasActivation: bias_activation,
    HeadScores: plainly(products.head_scores),
    HeadMix: plainly(products.head_mix),
    Conv: plainly(convolutions.forward),
    ConvGradInput: plainly(convolutions.backward_input),
    ConvGradWeight: plainly(convolutions.backward_weights),
    rewrites.ConvGradWeightBias: weights_and_bias,
    MaxPool: plainly(pooling.forward),
    AvgPool: plainly(pooling.forward),
    AvgPoolGrad: plainly(pooling.backward),
    MaxPoolWithPlaces: plainly(pooling.forward),
    MaxPoolToPlaces: max_to_places,
    BatchNorm: plainly(normalization.forward),
    BatchNormGrad: plainly(normalization.backward),
    Normalize: plainly(normalization.lower_inference),
    batch_norm_relu.NormalizeRelu: plainly(partial(normalization.lower_inference, relu=True)),
    batch_norm_relu.BatchNormRelu: plainly(normalization.relu_forward),
    batch_norm_relu.BatchNormReluGrad: plainly(normalization.relu_backward),
    LayerNorm: plainly(layer_norms.forward),
    LayerNormGrad: plainly(layer_norms.backward),
    Lrn: plainly(lrns.forward),
    lrn_workspace.LrnWithWorkspace: plainly(lrns.forward),
    lrn_workspace.LrnFromWorkspace: plainly(lrns.backward),
    Softmax: plainly(softmax.forward),
    SoftmaxGrad: plainly(softmax.backward),
    LogSoftmax: plainly(softmax.forward),
    LogSoftmaxGrad: plainly(softmax.backward),
    Gelu: plainly(elementwise.forward),
    GeluGrad: plainly(elementwise.backward),
    Lstm: steps.forward,
    Gru: steps.forward,
    SimpleRnn: steps.forward,
    RecurrentGrad: steps.backward,
    recurrent_workspace.WithWorkspace: recurrent_workspace.forward,
    recurrent_workspace.FromWorkspace: recurrent_workspace.backward,
    Resize: plainly(resizing.forward),
    ResizeGrad: plainly(resizing.backward),
    column_sums.ColumnSums: plainly(column_sums.lower),
    Relayout: relayout,
}

NARROW = {  # what numpy does well enough but in bfloat16
    Relu: plainly(elementwise.relu),
    ReluGrad: plainly(elementwise.relu_gradient),
    Add: plainly(elementwise.add),
    Cast: plainly(elementwise.cast),
}

COPIES = {  # what numpy does well enough of integers and where there is nothing
    Concat: plainly(copies.concat),
    Slice: plainly(copies.cut),
    Transpose: plainly(copies.transpose),
}

BACKEND = OneDnn()
