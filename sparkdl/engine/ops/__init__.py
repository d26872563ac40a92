"""Operations, which compute directly on arrays and add a node to the graph for Tensors."""

from sparkdl.engine.graph import Tensor
from sparkdl.engine.ops.activation import (
    elu,
    erf,
    leaky_relu,
    relu,
    relu_grad,
    sigmoid,
    softplus,
    tanh,
)
from sparkdl.engine.ops.attention import head_mix, head_scores
from sparkdl.engine.ops.base import OPS, Op
from sparkdl.engine.ops.ctc import ctc_loss
from sparkdl.engine.ops.elementwise import (
    abs,
    add,
    div,
    exp,
    greater,
    log,
    maximum,
    minimum,
    mul,
    neg,
    power,
    sign,
    sqrt,
    square,
    sub,
    where,
)
from sparkdl.engine.ops.gather import gather, scatter_add
from sparkdl.engine.ops.gelu import gelu
from sparkdl.engine.ops.layer_norm import layer_norm
from sparkdl.engine.ops.matmul import add_bias, matmul
from sparkdl.engine.ops.normalization import batch_norm, normalize
from sparkdl.engine.ops.random import normal, uniform
from sparkdl.engine.ops.recurrent import gru, lstm, simple_rnn
from sparkdl.engine.ops.reduce import max, mean, sum
from sparkdl.engine.ops.shape import (
    barrier,
    broadcast_to,
    cast,
    concat,
    copy,
    pad,
    reshape,
    slice,
    stop_gradient,
    sum_to,
    transpose,
)
from sparkdl.engine.ops.softmax import (
    log_softmax,
    one_hot,
    sigmoid_cross_entropy,
    softmax,
    softmax_cross_entropy,
)
from sparkdl.engine.ops.spatial.conv import conv, conv_transpose
from sparkdl.engine.ops.spatial.lrn import lrn
from sparkdl.engine.ops.spatial.pool import avg_pool, lp_pool, max_pool, pick_largest
from sparkdl.engine.ops.spatial.resize import resize
from sparkdl.engine.ops.spatial.sequence import image_to_sequence, sequence_to_image
from sparkdl.engine.ops.spatial.unfold import unfold
from sparkdl.engine.ops.time_steps import reverse_time

Tensor.__add__ = Tensor.__radd__ = lambda x, y: add(x, y)
Tensor.__mul__ = Tensor.__rmul__ = lambda x, y: mul(x, y)
Tensor.__sub__, Tensor.__rsub__ = (lambda x, y: sub(x, y)), (lambda x, y: sub(y, x))
Tensor.__truediv__, Tensor.__rtruediv__ = (lambda x, y: div(x, y)), (lambda x, y: div(y, x))
Tensor.__neg__ = lambda x: neg(x)
Tensor.__pow__ = lambda x, exponent: power(x, exponent)
Tensor.__matmul__ = lambda x, y: matmul(x, y)
Tensor.__rmatmul__ = lambda x, y: matmul(y, x)

__all__ = [
    "OPS",
    "Op",
    "abs",
    "add",
    "add_bias",
    "avg_pool",
    "batch_norm",
    "barrier",
    "broadcast_to",
    "cast",
    "concat",
    "conv",
    "conv_transpose",
    "copy",
    "ctc_loss",
    "div",
    "elu",
    "erf",
    "exp",
    "gather",
    "gelu",
    "greater",
    "head_mix",
    "head_scores",
    "layer_norm",
    "gru",
    "image_to_sequence",
    "leaky_relu",
    "log",
    "log_softmax",
    "lp_pool",
    "lrn",
    "lstm",
    "matmul",
    "max",
    "max_pool",
    "maximum",
    "mean",
    "minimum",
    "mul",
    "neg",
    "normal",
    "normalize",
    "one_hot",
    "pad",
    "pick_largest",
    "power",
    "relu",
    "relu_grad",
    "reshape",
    "resize",
    "reverse_time",
    "scatter_add",
    "sequence_to_image",
    "sigmoid",
    "sigmoid_cross_entropy",
    "sign",
    "simple_rnn",
    "slice",
    "softmax",
    "softmax_cross_entropy",
    "softplus",
    "sqrt",
    "square",
    "stop_gradient",
    "sub",
    "sum",
    "sum_to",
    "tanh",
    "transpose",
    "unfold",
    "uniform",
    "where",
]
