"""Numbers of bottoms and tops for each layer type."""

from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.layers.data import OPTIONS
from sparkdl.interop.caffe.layers.neuron import NEURONS

MANY = None
ONE_TO_ONE = "LRN SPP Im2col InnerProduct Embed BatchNorm Softmax MVN Reduction Tile Flatten"
ONE_TO_ONE += " Reshape ArgMax"
COUNTS = {  # (least, most) bottoms, (least, most) tops
    **dict.fromkeys(OPTIONS, ((0, 0), (1, MANY))),
    **dict.fromkeys([*NEURONS, *ONE_TO_ONE.split()], ((1, 1), (0, 1))),
    "Convolution": ((1, MANY), (1, MANY)),
    "Deconvolution": ((1, MANY), (1, MANY)),
    "Pooling": ((1, 1), (1, 2)),
    "Eltwise": ((1, MANY), (1, 1)),
    "Concat": ((1, MANY), (1, 1)),
    "Slice": ((1, 1), (1, MANY)),
    "Split": ((1, 1), (1, MANY)),
    "Silence": ((1, MANY), (0, 0)),
    "HDF5Output": ((1, MANY), (0, 0)),
    "Scale": ((1, 2), (1, 1)),
    "Bias": ((1, 2), (1, 1)),
    "Crop": ((2, 2), (1, 1)),
    "BatchReindex": ((2, 2), (1, 1)),
    "Filter": ((2, MANY), (1, MANY)),
    "Parameter": ((0, 0), (1, 1)),
    "Python": ((1, MANY), (0, MANY)),
    "LSTM": ((2, MANY), (1, MANY)),
    "RNN": ((2, MANY), (1, MANY)),
    "LSTMUnit": ((3, 3), (2, 2)),
    "Accuracy": ((2, 2), (1, 2)),
    "SoftmaxWithLoss": ((2, 2), (0, 2)),
    "InfogainLoss": ((2, 3), (0, 2)),
    "ContrastiveLoss": ((3, 3), (0, 1)),
    "MultinomialLogisticLoss": ((2, 2), (0, 1)),
    "HingeLoss": ((2, 2), (0, 1)),
    "SigmoidCrossEntropyLoss": ((2, 2), (0, 1)),
    "EuclideanLoss": ((2, 2), (0, 1)),
}
AS_MANY = {"Convolution": 0, "Deconvolution": 0, "Filter": 1}  # number of bottoms in excess of tops


def check_counts(layer):
    """Raises ConfigError unless a layer has as many bottoms and tops as its type allows.

    Loss weights, and flags of propagation, are one for each top and bottom or none, as Caffe checks
    in SetLossWeights and Net::Init. A loss without a top has a weight, too.

    Raises
    ------
    ConfigError
        With the allowed numbers.
    """
    check_values(layer, "loss_weight", "top", max(1, len(layer.top)))
    check_values(layer, "propagate_down", "bottom", len(layer.bottom))
    given = {"bottom": layer.bottom, "top": layer.top}
    for (name, blobs), (least, most) in zip(given.items(), COUNTS[layer.type], strict=True):
        if len(blobs) < least or (most is not MANY and len(blobs) > most):
            raise ConfigError(
                f"{layer.type}.{name} must be {format_range(least, most)}, got {list(blobs)}"
            )
    more = AS_MANY.get(layer.type, len(layer.bottom) - len(layer.top))
    if len(layer.bottom) != len(layer.top) + more:
        behind = ", with the selector behind" if more else ""
        raise ConfigError(
            f"{layer.type}.bottom must be one for each top{behind}, "
            f"got {list(layer.bottom)} for {list(layer.top)}"
        )


def check_values(layer, field, blobs, count):
    """Raises ConfigError unless a field has `count` values, one for each of the blobs, or none."""
    values = list(getattr(layer, field))
    if len(values) not in (0, count):
        raise ConfigError(
            f"{layer.type}.{field} must be given once for each {blobs}, or left out, got {values} "
            f"for {list(getattr(layer, blobs))}"
        )


def format_range(least, most):
    """Formats a range: "1 blob", "1 to 2 blobs", "at most 1 blob", "at least 2 blobs"."""
    if most is MANY:
        return f"at least {format_blobs(least)}"
    if least == most:
        return format_blobs(most)
    return f"{least} to {format_blobs(most)}" if least else f"at most {format_blobs(most)}"


def format_blobs(number):
    return "1 blob" if number == 1 else f"{number} blobs"
