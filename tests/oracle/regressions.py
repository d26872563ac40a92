"""Past failures, each named after its cause."""

from sparkdl.nn import (
    AvgPool2D,
    BatchNorm,
    Conv1D,
    Conv1DTranspose,
    Conv2D,
    Conv3DTranspose,
    LayerNorm,
    LocallyConnected1D,
    MaxPool1D,
    NetworkConf,
    Output,
    SeparableConv2D,
)
from tests.oracle.case import Case


def case(shape, *layers, dtype="float32", **options):
    """Returns the Case of a network with these layers and an output of three units."""
    layers = [*layers, Output(units=3, loss="mse")]
    return Case(conf=NetworkConf(input_shape=shape, layers=layers, dtype=dtype), **options)


DILATED = {"size": 2, "dilation": 3, "padding": 2, "stride": 1}

REGRESSIONS = {
    "BatchNorm in bfloat16 without gamma read it as float32": case(
        (2, 3, 3), BatchNorm(scale=False), dtype="bfloat16", batch=2
    ),
    "BatchNorm in bfloat16 without gamma and beta": case(
        (4, 3, 1), BatchNorm(scale=False, shift=False), dtype="bfloat16", batch=2
    ),
    "BatchNorm in bfloat16 without beta": case(
        (126,), BatchNorm(shift=False), dtype="bfloat16", batch=17
    ),
    "Conv1D in bfloat16 with a stride over one step read what was never written": case(
        (1, 1), Conv1D(filters=1, kernel_size=1, stride=2), dtype="bfloat16", batch=1
    ),
    "Conv3DTranspose in bfloat16 whose windows fill an axis read what was never written": case(
        (1, 2, 2, 2),
        Conv3DTranspose(filters=1, kernel_size=3, padding=1),
        dtype="bfloat16",
        batch=2,
    ),
    "SeparableConv2D in bfloat16 with a stride over one place": case(
        (1, 1, 1),
        SeparableConv2D(filters=1, kernel_size=1, stride=2),
        dtype="bfloat16",
        batch=1,
    ),
    "LayerNorm over the channels of one image: gradients of gamma and beta": case(
        (4, 3, 5), Conv2D(filters=4, kernel_size=3, padding=1), LayerNorm(), batch=1
    ),
    "LayerNorm over the channels of one volume": case((3, 2, 3, 2), LayerNorm(), batch=1),
    "Conv1D of a masked sequence with padding beyond its window": case(
        (3, 2), Conv1D(filters=1, kernel_size=1, padding=1), mask="ragged"
    ),
    "LocallyConnected1D of a masked sequence with padding beyond its window": case(
        (3, 2), LocallyConnected1D(filters=1, kernel_size=1, padding=1), mask="ragged"
    ),
    "Conv1DTranspose in bfloat16 with a sigmoid": case(
        (3, 2), Conv1DTranspose(filters=2, kernel_size=2, activation="sigmoid"), dtype="bfloat16"
    ),
}

# Layers that gave -inf or NaN for all-padding windows; such shapes are now rejected.
REFUSED = {
    "MaxPool1D: a dilated window that sees only padding": ((2, 3), MaxPool1D(**DILATED)),
    "AvgPool2D: a dilated window that sees only padding": ((1, 2, 2), AvgPool2D(**DILATED)),
}
