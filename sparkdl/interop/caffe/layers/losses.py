"""Losses, and what is computed of test data."""

from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.policies import shortest
from sparkdl.interop.caffe.scores import Score
from sparkdl.interop.caffe.trained import axis_of
from sparkdl.interop.caffe.translation import name_of
from sparkdl.nn import Activation, LossLayer
from sparkdl.nn.losses import (
    Euclidean,
    Hinge,
    MultinomialLogistic,
    SigmoidCrossEntropy,
    SoftmaxCrossEntropy,
    SquaredHinge,
)

FULL, VALID, BATCH_SIZE, NONE = range(4)
REDUCTIONS = {FULL: "full", VALID: "valid", BATCH_SIZE: "sum", NONE: "total"}


def softmax_with_loss(layer, net):
    options = layer.loss_param
    ours = SoftmaxCrossEntropy(ignore_label=ignored(options))
    compared(layer, net, ours, normalization(options, VALID))
    if len(layer.top) > 1:
        probability = Activation(function="softmax")
        name = f"{name_of(layer)}/{layer.top[1]}"
        net.add_by_channel(layer, probability, layer.bottom[0], layer.top[1], name)


def multinomial(layer, net):
    compared(layer, net, MultinomialLogistic())


def hinge(layer, net):
    kind = SquaredHinge if layer.hinge_loss_param.norm == 2 else Hinge
    compared(layer, net, kind(labels="class"))


def sigmoid_cross_entropy(layer, net):
    options = layer.loss_param
    compared(
        layer,
        net,
        SigmoidCrossEntropy(ignore_label=ignored(options)),
        normalization(options, BATCH_SIZE),
    )


def euclidean(layer, net):
    compared(layer, net, Euclidean())


def compared(layer, net, loss, reduction="sum"):
    """An output whose loss is what the layer computes."""
    bottoms = list(layer.bottom)
    if layer.type == "EuclideanLoss" and net.column(bottoms[0]):
        bottoms.reverse()  # the loss is the same
    z, labels = bottoms
    column, weight = net.column(labels), weight_of(layer)
    if column is None:
        raise ConfigError(f"labels must come from the data, got {labels!r}")
    name = name_of(layer)
    ours = LossLayer(loss=loss, loss_weight=weight, reduction=reduction, labels=column)
    net.add_output(layer, ours, [z])
    net.scores.append(
        Score(
            blob=layer.top[0] if layer.top else name,
            kind="loss",
            source=name,
            labels=column,
            weight=weight,
        )
    )


def weight_of(layer):
    """In what is minimised; 1 unless given."""
    return shortest(layer.loss_weight[0]) if layer.loss_weight else 1.0


def ignored(options):
    return options.ignore_label if options.HasField("ignore_label") else None


def normalization(options, default):
    """What the sum of all losses of a batch is divided by, as ScoredLayer.reduction says it."""
    if options.HasField("normalization"):
        return REDUCTIONS[options.normalization]
    if options.HasField("normalize"):
        return REDUCTIONS[VALID if options.normalize else BATCH_SIZE]
    return REDUCTIONS[default]


def accuracy(layer, net):
    options = layer.accuracy_param
    z, labels = layer.bottom
    column = net.column(labels)
    found = {
        "source": net.source(z),
        "labels": column or net.source(labels),
        "labels_blob": column is None,
        "top_k": options.top_k,
        "axis": axis_of(options.axis, net.shape(z), "axis"),
        "ignore_label": ignored(options),
    }
    for top, kind in zip(layer.top, ("accuracy", "class_accuracy")):
        net.scores.append(Score(blob=top, kind=kind, **found))


def argmax(layer, net):
    options, z = layer.argmax_param, layer.bottom[0]
    axis = axis_of(options.axis, net.shape(z), "axis") if options.HasField("axis") else None
    net.scores.append(
        Score(
            blob=layer.top[0],
            kind="argmax",
            source=net.source(z),
            top_k=options.top_k,
            axis=axis,
            values=options.out_max_val,
        )
    )


LOSSES = {
    "SoftmaxWithLoss": softmax_with_loss,
    "MultinomialLogisticLoss": multinomial,
    "HingeLoss": hinge,
    "SigmoidCrossEntropyLoss": sigmoid_cross_entropy,
    "EuclideanLoss": euclidean,
    "Accuracy": accuracy,
    "ArgMax": argmax,
}
