"""Convolutions over two or three spatial axes and their gradients, as graphs of cuDNN's."""

from dataclasses import dataclass
from typing import ClassVar

from sparkdl.engine.backends.cuda.cudnn.graph_builder import Request
from sparkdl.engine.backends.cuda.cudnn.plans import launch, specs
from sparkdl.engine.backends.cuda.lowerings import chains
from sparkdl.engine.chains import ChainOp
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.activation import ReluOp
from sparkdl.engine.ops.elementwise import AddOp
from sparkdl.engine.ops.spatial.conv import ConvGradInputOp, ConvOp
from sparkdl.errors import UnsupportedError


@dataclass(frozen=True, kw_only=True)
class ConvolutionRequest(Request):
    """Base of the three requests: images or volumes x, filters w, and y."""

    op: object
    x: Spec
    w: Spec
    y: Spec

    def windows(self):
        """Returns the options of the windows, with cuDNN's names."""
        before, after = zip(*self.op.padding, strict=True)
        return {
            "pre_padding": list(before),
            "post_padding": list(after),
            "stride": list(self.op.stride),
            "dilation": list(self.op.dilation),
        }


@dataclass(frozen=True, kw_only=True)
class ForwardRequest(ConvolutionRequest):
    """y = x convolved with w, + bias (1, O, 1, 1), then max(y, 0) if `rectified`."""

    label: ClassVar = "convolution"
    read: ClassVar = ("x", "w", "bias")
    bias: Spec | None = None
    rectified: bool = False

    def draw(self, drawing):
        graph, x, w = drawing.graph, drawing.read("x"), drawing.read("w")
        y = graph.conv_fprop(image=x, weight=w, **self.windows())
        if self.bias is not None:
            y = graph.bias(input=y, bias=drawing.read("bias"))
        drawing.write("y", graph.relu(input=y) if self.rectified else y)


@dataclass(frozen=True, kw_only=True)
class InputGradRequest(ConvolutionRequest):
    """x from y and w."""

    label: ClassVar = "gradient for the input"
    read: ClassVar = ("y", "w")

    def draw(self, drawing):
        y, w = drawing.read("y"), drawing.read("w")
        drawing.write("x", drawing.graph.conv_dgrad(loss=y, filter=w, **self.windows()))


@dataclass(frozen=True, kw_only=True)
class WeightGradRequest(ConvolutionRequest):
    """w from x and y, in the type of both: release 9.19 supports no other."""

    label: ClassVar = "gradient for the weights"
    read: ClassVar = ("x", "y")

    def draw(self, drawing):
        x, y = drawing.read("x"), drawing.read("y")
        drawing.write("w", drawing.graph.conv_wgrad(image=x, loss=y, **self.windows()))


def forward(session, op, x, w, y):
    return convolution_calls(session, ForwardRequest, op, x=x, w=w, y=y), kernel_name(
        ForwardRequest
    )


def backward_input(session, op, gy, w, gx):
    return convolution_calls(session, InputGradRequest, op, x=gx, w=w, y=gy), kernel_name(
        InputGradRequest
    )


def backward_weights(session, op, gy, x, gw):
    return convolution_calls(session, WeightGradRequest, op, x=x, w=gw, y=gy), kernel_name(
        WeightGradRequest
    )


def bias_activation(session, op, x, w, bias, y):
    """Lowers a BiasActivationOp; cuDNN fuses a convolution's bias and ReLU, a chain the rest."""
    bias = bias.reshape(1, -1, *(1,) * (x.ndim - 2))
    if isinstance(op.product, ConvGradInputOp):
        first = convolution_calls(session, InputGradRequest, op.product, x=y, w=w, y=x)
        rest = elementwise_calls(session, [AddOp(), op.activation], y, bias)
        return [*first, *rest], f"{kernel_name(InputGradRequest)}, chain"
    rectified = isinstance(op.activation, ReluOp)
    options = {"bias": bias, "rectified": rectified}
    first = convolution_calls(session, ForwardRequest, op.product, x=x, w=w, y=y, **options)
    if rectified or op.activation is None:
        return first, kernel_name(ForwardRequest)
    return [
        *first,
        *elementwise_calls(session, [op.activation], y),
    ], f"{kernel_name(ForwardRequest)}, chain"


def kernel_name(request):
    return f"cuDNN {request.label}"


def convolution_calls(session, request, op, **given):
    """Returns the calls of one of the three requests."""
    arrays = {n: a for n, a in given.items() if not isinstance(a, bool)}
    options = {n: a for n, a in given.items() if isinstance(a, bool)}
    kinds = {arrays[name].dtype.name for name in ("x", "w", "y")}
    if len(op.size) < 2:
        raise UnsupportedError("sequences do not lie channels last")
    if len(kinds) > 1:
        raise UnsupportedError(f"one type is needed, not {' and '.join(sorted(kinds))}")
    if not all(a.size for a in arrays.values()):
        raise UnsupportedError("there are no graphs of empty arrays")
    if request is WeightGradRequest and kinds == {"float32"} and is_lopsided(op):
        raise UnsupportedError("an engine of 9.19 gives wrong numbers for padding on one side")
    return launch(
        session, request(op=ConvOp(*op.options()), **specs(**arrays), **options), **arrays
    )


def is_lopsided(op):
    """Returns whether the padding differs between the two sides of an axis."""
    return any(before != after for before, after in op.padding)


def elementwise_calls(session, steps, y, *others):
    """Returns calls of consecutive elementwise operations, in place; the first takes `others`."""
    steps, width = [s for s in steps if s is not None], 1 + len(others)
    rest = [(step, (width + i,)) for i, step in enumerate(steps[1:])]
    chain = ChainOp(((steps[0], tuple(range(width))), *rest), (len(steps) - 1,))
    return chains.chain(session, chain, [y, *others], [y])[0]
