"""Losses, and scores of test data."""

from math import prod

from sparkdl.errors import UnsupportedError
from sparkdl.interop.caffe.layers.common import softmax
from sparkdl.interop.caffe.layers.scores import Score
from sparkdl.interop.caffe.messages.blobs import read_blob
from sparkdl.interop.caffe.messages.schema import LayerParameter
from sparkdl.interop.caffe.nets.names import name_of
from sparkdl.interop.caffe.policies import shortest
from sparkdl.nn import AddedLoss, ArgMax, Comparison, GainComparison, L2Distance, LossLayer
from sparkdl.nn.losses import (
    Contrastive,
    Euclidean,
    Hinge,
    Infogain,
    MultinomialLogistic,
    SigmoidCrossEntropy,
    SoftmaxCrossEntropy,
    SquaredHinge,
)

FULL, VALID, BATCH_SIZE, NONE = range(4)
TINY = 1e-12  # added to squared distances, so that the gradient at 0 is finite
REDUCTIONS = {FULL: "full", VALID: "valid", BATCH_SIZE: "sum", NONE: "total"}


def softmax_with_loss(layer, net):
    options = layer.loss_param
    z = with_units(layer, net)
    new_layer = SoftmaxCrossEntropy(ignore_label=ignored_label(options))
    reduction = normalization(options, VALID)
    if reduction == "sum":
        reduction = by_places_in_front(layer, net, layer.softmax_param.axis)
    add_compared_loss(layer, net, new_layer, z, reduction)
    probabilities(layer, net, layer.softmax_param.axis)


def probabilities(layer, net, axis):
    """Adds a Softmax of the first bottom as the second top, if there is one."""
    for top in layer.top[1:]:
        name = f"{name_of(layer)}/{top}"
        one = LayerParameter(name=name, bottom=layer.bottom[:1], top=[top])
        one.softmax_param.axis = axis
        softmax(one, net)


def by_places_in_front(layer, net, axis):
    """Returns the reduction of BATCH_SIZE: Caffe divides by all places before the classes."""
    z = layer.bottom[0]
    shape, axis = net.shape(z), net.axis(z, axis)
    before, behind = prod(shape[:axis]), prod(shape[axis + 1 :])
    if before > 1 and behind > 1:
        raise UnsupportedError(
            "normalization must not be BATCH_SIZE with axes on both sides of the classes"
        )
    return "full" if before > 1 else "sum"


def infogain(layer, net):
    """Takes the matrix from a file or a third bottom: a Parameter, or one per example."""
    options, ignore = layer.infogain_loss_param, ignored_label(layer.loss_param)
    reduction = normalization(layer.loss_param, VALID)
    if len(layer.bottom) == 2 and (not options.source or ignore is not None):
        raise UnsupportedError(
            "InfogainLoss must have its matrix in a file, and no ignore_label; or in a third bottom"
        )
    z = with_units(layer, net, options)
    if reduction == "sum":
        reduction = by_places_in_front(layer, net, options.axis)
    if len(layer.bottom) == 2:
        gain = read_blob(options.source)
        gain = gain.reshape(gain.shape[-2:]).astype(float).tolist()
        add_compared_loss(layer, net, Infogain(gain=gain), z, reduction)
    else:
        loss = SoftmaxCrossEntropy(ignore_label=ignore)
        add_compared_loss(layer, net, loss, z, reduction, gain=layer.bottom[2])
    probabilities(layer, net, options.axis)


def with_units(layer, net, options=None):
    """Returns the blob of scores, with the class axis where sparkdl expects it."""
    axis = (options or layer.softmax_param).axis
    z = layer.bottom[0]
    return net.units_in_place(layer, z, net.axis(z, axis))[0]


def multinomial(layer, net):
    add_compared_loss(layer, net, MultinomialLogistic(), as_row(layer, net))


def hinge(layer, net):
    kind = SquaredHinge if layer.hinge_loss_param.norm == 2 else Hinge
    add_compared_loss(layer, net, kind(labels="class"), as_row(layer, net))


def as_row(layer, net):
    """Returns the blob of scores, flattened per example."""
    bottom = net.by_channel(layer.bottom[0])
    shape = net.shape(bottom)
    if len(shape) == 1:
        return bottom
    return net.reshape_blob(layer, bottom, (prod(shape),), "rows")


def sigmoid_cross_entropy(layer, net):
    """Divides by the batch size by default, as Caffe does, else by the number of all values."""
    options, ignore = layer.loss_param, ignored_label(layer.loss_param)
    reduction = normalization(options, BATCH_SIZE)
    if reduction == "valid" and ignore is not None:
        raise UnsupportedError("SigmoidCrossEntropyLoss with ignore_label must not be VALID")
    averaged = reduction in ("valid", "full")
    new_layer = SigmoidCrossEntropy(ignore_label=ignore, averaged=averaged)
    if reduction == "sum":
        return by_first_axis(layer, net, new_layer, layer.bottom[0])
    if averaged and ignore is None:
        reduction = "mean"  # of places, all of which are known
    return add_compared_loss(layer, net, new_layer, layer.bottom[0], reduction)


def euclidean(layer, net):
    z, labels = layer.bottom
    if net.column(z):  # the loss is symmetric
        z, labels = labels, z
    by_first_axis(layer, net, Euclidean(), z, labels)


def contrastive(layer, net):
    """Compares the distance of the first two bottoms with the labels in the third."""
    options = layer.contrastive_loss_param
    new_layer = Contrastive(margin=shortest(options.margin), legacy=options.legacy_version)
    distance = f"{name_of(layer)}/distance"
    pair = [net.by_channel(blob) for blob in layer.bottom[:2]]
    net.add(layer, L2Distance(epsilon=TINY), pair, distance, distance)
    add_compared_loss(layer, net, new_layer, distance, "sum", layer.bottom[2])


def by_first_axis(layer, net, loss, z, labels=None):
    """Works as `add_compared_loss`, for a loss whose sum Caffe divides by its first axis.

    For sequences (steps, batch, ...) that is the number of steps, so Caffe's loss grows with the
    batch.
    """
    if z in net.sequences:
        add_compared_loss(layer, net, loss, z, "total", labels, share=1.0 / net.shape(z)[0])
    else:
        add_compared_loss(layer, net, loss, z, "sum", labels)


def add_compared_loss(layer, net, loss, z, reduction="sum", labels=None, gain=None, share=1.0):
    """Adds an output whose loss, times `share`, is what the layer computes.

    Parameters
    ----------
    gain : blob of infogain matrices, optional
    """
    net.one_batch(z)
    labels, name, weight = labels or layer.bottom[1], name_of(layer), weight_of(layer)
    column, chosen = net.column(labels), net.chosen.get(z)
    options = {"loss": loss, "loss_weight": weight * share, "reduction": reduction}
    if gain is not None:
        if chosen is not None:
            raise UnsupportedError("InfogainLoss with three bottoms must not follow a Filter")
        net.add_output(layer, GainComparison(**options), [z, labels, gain])
    elif column is not None and chosen is None:
        net.add_output(layer, LossLayer(**options, labels=column), [z])
    else:
        more = [] if chosen is None else [chosen]
        net.add_output(layer, Comparison(**options), [z, labels, *more])
    net.scores.append(
        Score(
            blob=layer.top[0] if layer.top else name,
            kind="loss",
            source=name,
            labels=column or net.source(labels),
            labels_blob=column is None,
            weight=weight,
            share=share,
        )
    )


def add_weighted_losses(layer, net):
    """Adds losses for blobs of other layers that have a loss_weight."""
    for top, weight in zip(layer.top, layer.loss_weight):
        if layer.type in LOSSES or not weight:
            continue
        name, kind = f"{name_of(layer)}/{top}/loss", net.of_batch.get(top)
        net.one_batch(top)
        new_layer = AddedLoss(weight=shortest(weight), mean=kind == "mean")
        net.add(LayerParameter(), new_layer, [top], name, name)
        net.scores.append(Score(blob=top, kind="loss", source=name, weight=shortest(weight)))


def weight_of(layer):
    """Returns the weight of a loss in the objective, 1 by default."""
    return shortest(layer.loss_weight[0]) if layer.loss_weight else 1.0


def ignored_label(options):
    return options.ignore_label if options.HasField("ignore_label") else None


def normalization(options, default):
    """Returns the divisor of a batch's summed losses, as in ScoredLayer.reduction."""
    if options.HasField("normalization"):
        return REDUCTIONS[options.normalization]
    if options.HasField("normalize"):
        return REDUCTIONS[VALID if options.normalize else BATCH_SIZE]
    return REDUCTIONS[default]


def accuracy(layer, net):
    options = layer.accuracy_param
    z, labels = layer.bottom
    column = net.column(labels)
    net.one_batch(z)
    score = {
        "source": net.source(z),
        "labels": column or net.source(labels),
        "labels_blob": column is None,
        "top_k": options.top_k,
        "axis": net.axis(z, options.axis),
        "ignore_label": ignored_label(options),
    }
    for top, kind in zip(layer.top, ("accuracy", "class_accuracy")):
        net.scores.append(Score(blob=top, kind=kind, **score))


def argmax(layer, net):
    """Adds an argmax, as a score or, if another layer reads it, a blob."""
    options, z = layer.argmax_param, layer.bottom[0]
    axis = net.axis(z, options.axis) if options.HasField("axis") else None
    if net.uses.is_used(layer.top[0]):
        new_layer = ArgMax(top_k=options.top_k, axis=axis, values=options.out_max_val)
        return net.add(layer, new_layer)
    net.one_batch(z)
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
    return None


LOSSES = {
    "SoftmaxWithLoss": softmax_with_loss,
    "InfogainLoss": infogain,
    "ContrastiveLoss": contrastive,
    "MultinomialLogisticLoss": multinomial,
    "HingeLoss": hinge,
    "SigmoidCrossEntropyLoss": sigmoid_cross_entropy,
    "EuclideanLoss": euclidean,
    "Accuracy": accuracy,
    "ArgMax": argmax,
}
