"""Error messages of operations."""

import re

import numpy as np
import pytest

from sparkdl.engine import Spec, Tensor, ops
from sparkdl.engine.ops.activation import relu_grad
from sparkdl.engine.ops.reduce import equal
from sparkdl.engine.ops.spatial.resize import ResizeOp
from sparkdl.engine.ops.spatial.unfold import FoldOp
from sparkdl.errors import ShapeError


def of(*shape, dtype="float32"):
    return np.zeros(shape, dtype)


IMAGES = of(2, 4, 5, 5)
WHOLE = of(3, dtype="int32")

REFUSED = {
    "Add cannot broadcast (2, 3) and (4,)": lambda: ops.add(of(2, 3), of(4)),
    "Where cannot broadcast (2,) and (3,) and ()": lambda: ops.where(of(2), of(3), 0.0),
    "ReluGrad needs equal shapes, got (2,) and (3,)": lambda: relu_grad(of(2), of(3)),
    "Equal needs equal shapes, got (2,) and (1,)": lambda: equal(of(2), of(1)),
    "SigmoidCrossEntropy needs equal shapes, got (2, 3) and (3,)": (
        lambda: ops.sigmoid_cross_entropy(of(2, 3), of(3))
    ),
    "Exp needs floats, got int32; cast them first": lambda: ops.exp(WHOLE),
    "Div needs floats, got int32 and int32; cast them first": lambda: ops.div(WHOLE, WHOLE),
    "Softmax needs floats, got int32; cast them first": lambda: ops.softmax(WHOLE),
    "MaxPool needs floats, got uint8; cast them first": (
        lambda: ops.max_pool(of(1, 1, 2, 2, dtype="uint8"), 2)
    ),
    "matmul takes two matrices, got (2,) and (2, 3)": lambda: ops.matmul(of(2), of(2, 3)),
    "matmul of (2, 2, 3) and (4, 3, 2): the leading axes differ": (
        lambda: ops.matmul(of(2, 2, 3), of(4, 3, 2))
    ),
    "matmul of (2, 3) and (2, 3): the inner lengths differ": (
        lambda: ops.matmul(of(2, 3), of(2, 3))
    ),
    "matmul of (3, 2) and (3, 2): the inner lengths differ": (
        lambda: ops.matmul(of(2, 3), of(2, 3), True, True)
    ),
    "add_bias along 1 of (2, 3) needs (3,), got (2,)": lambda: ops.add_bias(of(2, 3), of(2)),
    "axis 1 does not exist in (3,)": lambda: ops.add_bias(of(3), of(3), axis=1),
    "conv of (2, 4, 5, 5) in 1 groups does not fit w (3, 2, 3, 3)": (
        lambda: ops.conv(IMAGES, of(3, 2, 3, 3))
    ),
    "conv needs filters in 2 equal groups, got 3": (
        lambda: ops.conv(IMAGES, of(3, 2, 3, 3), groups=2)
    ),
    "conv needs filters (O, C/groups, 1 to 3 sizes), got (4, 3)": lambda: ops.conv(
        IMAGES, of(4, 3)
    ),
    "Conv takes images (N, C, H, W), got (4, 5)": lambda: ops.conv(of(4, 5), of(3, 4, 1, 1)),
    "Conv takes volumes (N, C, D, H, W), got (2, 4, 5, 5)": (
        lambda: ops.conv(IMAGES, of(3, 4, 1, 1, 1))
    ),
    "pooling takes (N, C, 1 to 3 axes of space), got (4, 5)": lambda: ops.max_pool(of(4, 5), 2),
    "2 axes of space need a number each, got (1, 2, 3)": (
        lambda: ops.max_pool(IMAGES, 2, stride=(1, 2, 3))
    ),
    "2 axes of space need padding each, got (1,)": lambda: ops.avg_pool(IMAGES, 2, padding=(1,)),
    "conv_transpose of (2, 4, 5, 5) by (4, 3, 2, 2) gives no (7, 6)": (
        lambda: ops.conv_transpose(IMAGES, of(4, 3, 2, 2), (7, 6))
    ),
    "Resize takes images (N, C, H, W), got (2, 3)": lambda: ResizeOp((4, 4))(of(2, 3)),
    "resize of (2, 4, 5, 5) to (0, 4) has no numbers to take": lambda: ops.resize(IMAGES, (0, 4)),
    "fold of (2, 4, 5, 5) gives no (9, 9)": (
        lambda: FoldOp((2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1), (9, 9))(IMAGES)
    ),
    "a sequence (N, T, F) becomes an image, got (2, 3)": lambda: ops.sequence_to_image(of(2, 3)),
    "an image (N, F, 1, T) becomes a sequence, got (2, 4, 5, 5)": (
        lambda: ops.image_to_sequence(IMAGES)
    ),
    "a window of (7, 7) does not fit into images of (5, 5)": (
        lambda: ops.conv(IMAGES, of(3, 4, 7, 7))
    ),
    "a window of (6, 6) does not fit into images of (5, 5)": lambda: ops.max_pool(IMAGES, 6),
    "MaxPool needs size, stride and dilation of at least 1, got (0, 0), (1, 1), (1, 1)": (
        lambda: ops.max_pool(IMAGES, 0, 1)
    ),
    "AvgPool needs size, stride and dilation of at least 1, got (2, 2), (0, 0), (1, 1)": (
        lambda: ops.avg_pool(IMAGES, 2, 0)
    ),
    "Conv needs size, stride and dilation of at least 1, got (0, 2), (1, 1), (1, 1)": (
        lambda: ops.conv(IMAGES, of(3, 4, 0, 2))
    ),
    "Unfold needs size, stride and dilation of at least 1, got (2, 2), (1, 1), (0, 1)": (
        lambda: ops.unfold(IMAGES, (2, 2), (1, 1), ((0, 0), (0, 0)), (0, 1))
    ),
    "conv needs channels and filters, got (1, 0, 5, 5) and (3, 0, 2, 2)": (
        lambda: ops.conv(of(1, 0, 5, 5), of(3, 0, 2, 2))
    ),
    "ctc_loss needs a step, got (2, 0, 3)": (
        lambda: ops.ctc_loss(of(2, 0, 3), np.zeros((2, 1), np.int32))
    ),
    "padding ((2, 2), (2, 2)) holds a whole window of (2, 2)": (
        lambda: ops.avg_pool(IMAGES, 2, padding=2)
    ),
    "padding ((0, 3), (0, 0)) holds a whole window of (2, 2)": (
        lambda: ops.max_pool(IMAGES, 2, padding=((0, 3), (0, 0)))
    ),
    "padding ((4, 4), (4, 4)) holds a whole window of (2, 2)": (
        lambda: ops.max_pool(of(1, 1, 5, 2), 2, padding=4, dilation=5)
    ),
    "batch_norm of (2, 3) does not fit (2,), (3,)": (
        lambda: ops.batch_norm(of(2, 3), of(2), of(3), 1e-5)
    ),
    "batch_norm needs numbers to take the mean of, got (0, 3)": (
        lambda: ops.batch_norm(of(0, 3), of(3), of(3), 1e-5)
    ),
    "Softmax needs rows of at least one number, got ()": lambda: ops.softmax(of()),
    "LogSoftmax needs rows of at least one number, got (2, 0)": lambda: ops.log_softmax(of(2, 0)),
    "logits (2, 3) need labels (2,), got (3,)": lambda: ops.softmax_cross_entropy(of(2, 3), WHOLE),
    "labels need an integer type, got float32": (
        lambda: ops.softmax_cross_entropy(of(2, 3), of(2))
    ),
    "reshape needs 6 elements for (2, 3), got (4,)": lambda: ops.reshape(of(2, 3), (4,)),
    "reshape needs 6 elements for (2, 3), got (4, 1)": lambda: ops.reshape(of(2, 3), (4, -1)),
    "transpose of (2, 3) needs each axis once, got (0, 0)": lambda: ops.transpose(of(2, 3), (0, 0)),
    "cannot broadcast (2, 3) to (3, 2)": lambda: ops.broadcast_to(of(2, 3), (3, 2)),
    "cannot broadcast (4,) to (2, 3)": lambda: ops.sum_to(of(2, 3), (4,)),
    "slice (0,) to (1,) does not lie within (2, 3)": lambda: ops.slice(of(2, 3), (0,), (1,)),
    "slice (0, 0) to (2, 4) does not lie within (2, 3)": (
        lambda: ops.slice(of(2, 3), (0, 0), (2, 4))
    ),
    "pad of (2, 3) needs a width per axis, got (1,)": lambda: ops.pad(of(2, 3), (1,), (1,)),
    "pad needs widths >= 0, got (0,) and (-1,)": lambda: ops.pad(of(3), (0,), (-1,)),
    "concat along 0 cannot join [(2, 3), (2, 4)]": lambda: ops.concat([of(2, 3), of(2, 4)]),
    "concat along 1 cannot join [(2, 3), (2,)]": lambda: ops.concat([of(2, 3), of(2)], axis=1),
    "concat needs at least one array": lambda: ops.concat([]),
    "axis 2 does not exist in (2, 3)": lambda: ops.sum(of(2, 3), 2),
    "axis -1 does not exist in ()": lambda: ops.max(of(), -1),
    "max of (0, 3) along (0,) has no numbers to look at": lambda: ops.max(of(0, 3), 0),
    "mean of (0, 3) along None has no numbers to look at": lambda: ops.mean(of(0, 3)),
    "uniform takes ids (batch,) and one epoch, got (2, 3), ()": (
        lambda: ops.uniform(of(2, 3, dtype="uint64"), 0, (1,), 0, 0)
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_arrays_that_do_not_fit_are_refused_by_name(message):
    with pytest.raises(ShapeError, match=re.escape(message)):
        REFUSED[message]()


def test_tensors_are_refused_when_the_graph_is_written_not_when_it_runs():
    with pytest.raises(ShapeError, match="inner lengths differ"):
        Tensor(Spec((2, 3))) @ Tensor(Spec((2, 3)))
