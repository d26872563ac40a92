"""oneDNN on the CPU: products, convolutions, pooling, normalization; numpy for the rest.

Images and volumes are channels last in memory while their logical axes stay (N, C, H, W) and (N, C,
D, H, W): an array of the arena is a numpy view with those strides, so numpy kernels can read it
too.

Results are bit-identical from run to run with the same number of threads. With another number, some
oneDNN kernels add in another order, one part per thread: products over a long axis, weight
gradients of convolutions, batch normalization, gamma and beta gradients of layer normalization,
gradients of recurrent layers and of overlapping maxima; their outputs differ by 1e-7 to 1e-5 of the
largest value. How many threads a small kernel gets depends on those around it in its program.
Compiled loops are not affected: the split of their sums depends on shapes alone; but without
AVX-512 the number of threads decides whether one computes predictions of an LSTM layer.
"""

from copy import copy
from dataclasses import replace
from functools import cache, partial

import numpy as np

from sparkdl.engine.backends import reference
from sparkdl.engine.backends.base import Kernel
from sparkdl.engine.backends.onednn.arena_layout import place
from sparkdl.engine.backends.onednn.binding.api import TYPES, OneDnnSession
from sparkdl.engine.backends.onednn.binding.signal_stack import provide_signal_stack
from sparkdl.engine.backends.onednn.lowerings import (
    compiled_loops,
    compiled_lstm,
    convolutions,
    copies,
    deconvolutions,
    elementwise,
    layer_norms,
    lrn,
    normalization,
    pooling,
    products,
    recurrent_steps,
    resizing,
    softmax,
    winograd,
)
from sparkdl.engine.backends.onednn.rewrites import (
    batch_norm_relu,
    column_sums,
    conv_bias_gradient,
    conv_sum,
    lrn_workspace,
    product_sum,
    recurrent_workspace,
    side_by_side,
    slow_gradients,
)
from sparkdl.engine.backends.onednn.team_plan import nodes_alone
from sparkdl.engine.backends.onednn.team_size import (
    OneThread,
    in_sequence,
    leave_sequence,
)
from sparkdl.engine.chains import ChainOp, into_chains
from sparkdl.engine.dtypes import BFLOAT16, name_of
from sparkdl.engine.fusion import BiasActivationOp, fuse
from sparkdl.engine.layouts import RelayoutOp, relayouts, sequences_in_place
from sparkdl.engine.maxima import MaxPoolToPlacesOp, MaxPoolWithPlacesOp, record_maxima
from sparkdl.engine.native.chains import may_chain
from sparkdl.engine.native.jit import compiler
from sparkdl.engine.native.primitive_lists import at_once
from sparkdl.engine.native.threads import pool
from sparkdl.engine.ops.activation import ReluGradOp, ReluOp
from sparkdl.engine.ops.attention import HeadMixOp, HeadScoresOp
from sparkdl.engine.ops.elementwise import AddOp
from sparkdl.engine.ops.gelu import GeluGradOp, GeluOp
from sparkdl.engine.ops.layer_norm import LayerNormGradOp, LayerNormOp
from sparkdl.engine.ops.matmul import MatMulOp
from sparkdl.engine.ops.normalization import BatchNormGradOp, BatchNormOp, NormalizeOp
from sparkdl.engine.ops.recurrent.grad import RecurrentGradOp
from sparkdl.engine.ops.recurrent.gru import GruOp
from sparkdl.engine.ops.recurrent.lstm import LstmOp
from sparkdl.engine.ops.recurrent.simple_rnn import SimpleRnnOp
from sparkdl.engine.ops.shape import CastOp, ConcatOp, SliceOp, TransposeOp
from sparkdl.engine.ops.softmax import LogSoftmaxGradOp, LogSoftmaxOp, SoftmaxGradOp, SoftmaxOp
from sparkdl.engine.ops.spatial.conv import ConvGradInputOp, ConvGradWeightOp, ConvOp
from sparkdl.engine.ops.spatial.lrn import LrnOp
from sparkdl.engine.ops.spatial.pool import AvgPoolGradOp, AvgPoolOp, MaxPoolOp
from sparkdl.engine.ops.spatial.resize import ResizeGradOp, ResizeOp
from sparkdl.errors import UnsupportedError


class OneDnn(reference.Reference):
    """oneDNN's kernels where it has them, else the reference's.

    Raises
    ------
    UnsupportedError
        On construction, if the library is not found.
    """

    name = "onednn"

    def __init__(self):
        super().__init__()
        self.session, self.compiler, self.alone = OneDnnSession(), None, frozenset()
        try:
            self.compiler = compiler()
        except UnsupportedError as error:
            self.note = str(error)
        self.rewrites = (
            fuse,
            record_maxima,
            partial(lrn_workspace.share_lrn_workspaces, self.session),
            partial(slow_gradients.take_apart, self.session, self.compiler),
            batch_norm_relu.fuse_relus,
            partial(conv_sum.add_in_convolutions, self.session),
            product_sum.products_into_sums,
            partial(recurrent_workspace.with_workspaces, self.session),
            conv_bias_gradient.biases_with_weights,
            column_sums.replace_feature_sums,
            relayouts,
            sequences_in_place,
            into_chains if self.compiler is None else partial(into_chains, may=may_chain),
            *([] if self.compiler is None else [side_by_side.pair_directions]),
        )

    def fresh(self):
        provide_signal_stack()
        backend = copy(self)
        backend.session = self.session.fresh()
        return backend

    def array(self, part, shape):
        """Returns an array of the arena; images and volumes are channels last."""
        return place(part, shape)

    def hold(self, arrays):
        self.session.hold(arrays)

    def choose_threads(self, *sequences):
        team = pool()
        threads = 1 if team is None else team.get_size()
        self.alone = set().union(*(nodes_alone(nodes, threads) for nodes in sequences))

    def in_sequence(self, calls):
        return in_sequence(calls)

    def leave_sequence(self):
        leave_sequence()

    def lower(self, node, inputs, outputs):
        if isinstance(node.op, side_by_side.SideBySideOp):
            return self._lower_both(node, inputs, outputs)
        team = pool()
        if team is None or team.get_size() == 1:
            return self._lower(node, inputs, outputs)
        if node not in self.alone:
            with team.planned():
                return self._lower(node, inputs, outputs)
        with team.alone():
            kernel = self._lower(node, inputs, outputs)
        ahead = tuple(OneThread(call, team) for call in kernel.ahead)
        return replace(kernel, call=OneThread(kernel.call, team), ahead=ahead)

    def _lower_both(self, node, inputs, outputs):
        """Returns the kernel of a node of two operations, each on its own thread."""
        lists, ahead, names, team = [], [], [], pool()
        tensors_and_arrays = node.op.parts(node.inputs), node.op.parts(inputs)
        parts = zip(*tensors_and_arrays, self.session.get_others(2), strict=True)
        for (op, tensors), (_, arrays), session in parts:
            own = outputs[: len(op.shape(*(tensor.spec for tensor in tensors)))]
            outputs = outputs[len(own) :]
            session.next_kernel()
            with team.alone():
                calls, name = PAIRED[type(op)](session, op, arrays, own)
            lists.append(calls)
            ahead += [OneThread(call, team) for call in session.ahead]
            names.append(name)
        call = at_once(lists, self.session.execute, self.compiler)
        return Kernel(call, " | ".join(names), ahead=tuple(ahead))

    def _lower(self, node, inputs, outputs):
        op = node.op
        if isinstance(op, ChainOp):
            return compiled_loops.chain(op, inputs, outputs, self.compiler)
        make, why = LOWERINGS.get(type(op)), unfit_reason(*inputs, *outputs)
        if make is None and any(a.dtype == BFLOAT16 for a in (*inputs, *outputs)):
            make = NARROW.get(type(op))
        if make is None and not why:
            make = COPIES.get(type(op))
        if make is None or compiled_loops.is_preferred(op, inputs):
            kernel, refusal = compiled_loops.compile_kernel(op, inputs, outputs, self.compiler)
            if kernel is not None:
                return kernel
            why = refusal if make is None else why
        if make is not None and not why:
            try:
                self.session.next_kernel()
                calls, name = make(self.session, op, inputs, outputs)
                if not name.startswith("ref"):
                    call = calls[0] if len(calls) == 1 else partial(run_all, calls)
                    return Kernel(call, name, ahead=tuple(self.session.ahead))
                why = "oneDNN has no fast kernel for these shapes"
            except UnsupportedError as error:
                why = str(error)
        plain = super().lower(node, inputs, outputs)
        return Kernel(plain.call, plain.name, why)


def unfit_reason(*arrays):
    """Returns why oneDNN does not support these arrays, or ""."""
    if any(name_of(a.dtype) not in TYPES for a in arrays):
        return f"{' and '.join(TYPES)} only, got {sorted({name_of(a.dtype) for a in arrays})}"
    if any(a.ndim == 0 for a in arrays):
        return "a single number"
    return "" if all(a.size for a in arrays) else "an empty batch"


def run_all(calls):
    for call in calls:
        call()


def bias_activation(session, op, inputs, outputs):
    x, w, b = inputs
    if isinstance(op.product, ConvOp):
        return convolve(session, op.product, x, w, outputs[0], b, op.activation)
    after = [] if op.activation is None else elementwise.after_product(op.activation)
    if isinstance(op.product, ConvGradInputOp):
        return deconvolutions.forward(session, op, x, w, b, outputs[0], after)
    return products.forward(session, op.product, x, w, outputs[0], b, after)


def convolve(session, op, x, w, y, bias=None, activation=None):
    if winograd.is_preferred(session, op, x, w, y, bias, activation=activation):
        return winograd.forward(session, op, x, w, y, bias, activation=activation)
    after = [] if activation is None else elementwise.after_product(activation)
    return convolutions.forward(session, op, x, w, y, bias, after)


def spread_arrays(make):
    """Adapts a lowering that takes the node's arrays as separate arguments."""
    return lambda session, op, inputs, outputs: make(session, op, *inputs, *outputs)


def weights_and_bias(session, op, inputs, outputs):
    return convolutions.backward_weights(session, op.product, *inputs, *outputs)


def recurrent_forward(session, op, inputs, outputs):
    if compiled_lstm.is_preferred(session, op.forward, inputs, outputs):
        return compiled_lstm.forward(session, op.forward, inputs, outputs)
    return recurrent_workspace.forward(session, op, inputs, outputs)


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
    MatMulOp: spread_arrays(products.forward),
    BiasActivationOp: bias_activation,
    HeadScoresOp: spread_arrays(products.head_scores),
    HeadMixOp: spread_arrays(products.head_mix),
    ConvOp: spread_arrays(convolve),
    ConvGradInputOp: spread_arrays(convolutions.backward_input),
    ConvGradWeightOp: spread_arrays(convolutions.backward_weights),
    conv_bias_gradient.ConvGradWeightBiasOp: weights_and_bias,
    conv_sum.ConvSumOp: spread_arrays(conv_sum.lower),
    product_sum.ProductSumOp: spread_arrays(product_sum.lower),
    MaxPoolOp: spread_arrays(pooling.forward),
    AvgPoolOp: spread_arrays(pooling.forward),
    AvgPoolGradOp: spread_arrays(pooling.backward),
    MaxPoolWithPlacesOp: spread_arrays(pooling.forward),
    MaxPoolToPlacesOp: max_to_places,
    BatchNormOp: spread_arrays(normalization.forward),
    BatchNormGradOp: spread_arrays(normalization.backward),
    NormalizeOp: spread_arrays(normalization.lower_inference),
    batch_norm_relu.NormalizeReluOp: spread_arrays(
        partial(normalization.lower_inference, relu=True)
    ),
    batch_norm_relu.BatchNormReluOp: spread_arrays(normalization.relu_forward),
    batch_norm_relu.BatchNormReluGradOp: spread_arrays(normalization.relu_backward),
    LayerNormOp: spread_arrays(layer_norms.forward),
    LayerNormGradOp: spread_arrays(layer_norms.backward),
    LrnOp: spread_arrays(lrn.forward),
    lrn_workspace.LrnWithWorkspaceOp: spread_arrays(lrn.forward),
    lrn_workspace.LrnFromWorkspaceOp: spread_arrays(lrn.backward),
    SoftmaxOp: spread_arrays(softmax.forward),
    SoftmaxGradOp: spread_arrays(softmax.backward),
    LogSoftmaxOp: spread_arrays(softmax.forward),
    LogSoftmaxGradOp: spread_arrays(softmax.backward),
    GeluOp: spread_arrays(elementwise.forward),
    GeluGradOp: spread_arrays(elementwise.backward),
    LstmOp: recurrent_steps.forward,
    GruOp: recurrent_steps.forward,
    SimpleRnnOp: recurrent_steps.forward,
    RecurrentGradOp: recurrent_steps.backward,
    recurrent_workspace.WithWorkspaceOp: recurrent_forward,
    recurrent_workspace.FromWorkspaceOp: recurrent_workspace.backward,
    ResizeOp: spread_arrays(resizing.forward),
    ResizeGradOp: spread_arrays(resizing.backward),
    column_sums.ColumnSumsOp: spread_arrays(column_sums.lower),
    RelayoutOp: relayout,
}

PAIRED = {  # lowered to lists of primitives only
    recurrent_workspace.WithWorkspaceOp: recurrent_workspace.forward,
    recurrent_workspace.FromWorkspaceOp: recurrent_workspace.backward,
}

NARROW = {  # lowered to oneDNN for bfloat16 only
    ReluOp: spread_arrays(elementwise.relu),
    ReluGradOp: spread_arrays(elementwise.relu_gradient),
    AddOp: spread_arrays(elementwise.add),
    CastOp: spread_arrays(elementwise.cast),
}

COPIES = {  # lowered to oneDNN for types it knows and non-empty arrays
    ConcatOp: spread_arrays(copies.concat),
    SliceOp: spread_arrays(copies.cut),
    TransposeOp: spread_arrays(copies.transpose),
}


def __getattr__(name):
    """Returns BACKEND, created at the first access: importing this module loads no library."""
    if name != "BACKEND":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return make_backend()


@cache
def make_backend():
    return OneDnn()
