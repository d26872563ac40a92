"""Losses of a compiled Keras model, as loss layers after its outputs."""

from dataclasses import replace
from numbers import Real

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras.options import object_of
from sparkdl.nn import layers as nn
from sparkdl.nn import losses
from sparkdl.nn.activations import Exp, Sigmoid, Softmax
from sparkdl.nn.networks.last_activation import ends_in, without_activation

REDUCTIONS = (None, "auto", "sum_over_batch_size", "mean_with_sample_weight", "mean")


def sparse(options, place):
    options.only(label_smoothing=0.0, ignore_class=None)
    return losses.SoftmaxCrossEntropy(), Softmax, options.flag("from_logits")


def categorical(options, place):
    loss = losses.SoftmaxCrossEntropy(labels="one_hot", **smoothing(options))
    return loss, Softmax, options.flag("from_logits")


def categorical_focal(options, place):
    """Returns a focal loss; alpha is a number for all classes, or one for each."""
    alpha = options.take("alpha", 0.25)
    weights = (alpha,) * place.shape[-1] if isinstance(alpha, Real) else tuple(alpha)
    loss = losses.SoftmaxCrossEntropy(
        labels="one_hot",
        class_weights=None if set(weights) == {1.0} else weights,
        focal_gamma=options.number("gamma", 2.0),
        **smoothing(options),
    )
    return loss, Softmax, options.flag("from_logits")


def binary(options, place):
    loss = losses.SigmoidCrossEntropy(averaged=True, **smoothing(options))
    return loss, Sigmoid, options.flag("from_logits")


def binary_focal(options, place):
    alpha = options.number("alpha", 0.25)
    loss = losses.SigmoidCrossEntropy(
        averaged=True,
        focal_gamma=options.number("gamma", 2.0),
        focal_alpha=alpha if options.flag("apply_class_balancing") else None,
        **smoothing(options),
    )
    return loss, Sigmoid, options.flag("from_logits")


def smoothing(options):
    return {"label_smoothing": options.number("label_smoothing", 0.0)}


def dice(options, place):
    """Returns a Dice of sigmoid."""
    return losses.Dice(labels="masks", smooth=0, **places_of(options, place)), Sigmoid, False


def tversky(options, place):
    """Returns a Tversky loss of sigmoid.

    Keras's text calls alpha the weight of false positives; its code multiplies (1 - prediction)
    label by it, which are the false negatives.
    """
    loss = losses.Tversky(
        labels="masks",
        smooth=0,
        alpha=options.number("beta", 0.5),
        beta=options.number("alpha", 0.5),
        **places_of(options, place),
    )
    return loss, Sigmoid, False


def places_of(options, place):
    """Returns `per_unit`: sums are over steps, or all axes of an example, not over the batch."""
    axis, rank = options.take("axis"), len(place.shape)
    given = [axis] if isinstance(axis, int) else axis or []
    axes = {one % (rank + 1) for one in given}
    holds = axes in ({1}, {*range(1, rank + 1)}) and not place.masked
    options.need(holds, "axis", axis)
    return {"per_unit": len(axes) < rank}


def kl_divergence(options, place):
    return losses.KlDivergence(), Softmax, False


def huber(options, place):
    """Returns a Huber loss; Keras's files lack delta, which it loads as 1.0."""
    return losses.Huber(delta=options.number("delta", 1.0)), None, False


def poisson(options, place):
    """Returns a Poisson of exp; Keras adds 1e-7 to each rate before its logarithm."""
    return losses.Poisson(averaged=True), Exp, False


def plain(kind, **given):
    return lambda options, place: (kind(**given), None, False)


RULES = {
    "categoricalcrossentropy": categorical,
    "categoricalfocalcrossentropy": categorical_focal,
    "sparsecategoricalcrossentropy": sparse,
    "binarycrossentropy": binary,
    "binaryfocalcrossentropy": binary_focal,
    "dice": dice,
    "tversky": tversky,
    "kldivergence": kl_divergence,
    "huber": huber,
    "hinge": plain(losses.Hinge, averaged=True),
    "squaredhinge": plain(losses.SquaredHinge, averaged=True),
    "poisson": poisson,
    "logcosh": plain(losses.LogCosh),
    "meansquarederror": plain(losses.Mse),
    "meanabsoluteerror": plain(losses.Mae),
    "meanabsolutepercentageerror": plain(losses.Mape),
    "meansquaredlogarithmicerror": plain(losses.Msle),
    "cosinesimilarity": plain(losses.CosineProximity),
}
SHORT = {
    "mse": "meansquarederror",
    "mae": "meanabsoluteerror",
    "mape": "meanabsolutepercentageerror",
    "msle": "meansquaredlogarithmicerror",
    "bce": "binarycrossentropy",
    "kld": "kldivergence",
}


def loss_of(value, place):
    """Returns (loss, the activation function that it includes, whether its input is logits)."""
    name, options = object_of(value)
    key = name.replace("_", "").lower()
    key = SHORT.get(key, key)
    if key not in RULES:
        raise UnsupportedError(f"loss {name!r} is not supported")
    found = RULES[key](options, place)
    options.need(options.take("reduction") in REDUCTIONS, "reduction", options.values)
    if "axis" not in options.seen:
        options.only(axis=-1)
    options.finish()
    return found


def add_loss(graph, place, value, weight, labels, others):
    """Adds the loss layer of an output; returns the name of the vertex with the model's output.

    Parameters
    ----------
    graph : GraphTranslation
    place : Place
        Place of the output.
    value : str or dict
        The loss in Keras's config.
    weight : float
    labels : str or None
        Data column.
    others : iterable of str
        Vertices of the model's other outputs.
    """
    if len(place.shape) > 2:
        raise UnsupportedError("a loss of images is not supported")
    loss, held, logits = loss_of(value, place)
    if isinstance(loss, losses.Dice | losses.Tversky) and ends_in(
        graph.build.conf(), place.name, Softmax
    ):
        loss, held = replace(loss, labels="one_hot"), Softmax
    source = place.name
    if held is not None and not logits:
        build = graph.build
        source = without_activation(build.vertices, build.conf(), place.name, held, others)
    layer = nn.LossLayer(
        loss=loss,
        loss_weight=weight,
        labels=labels,
        reduction="valid" if place.masked else "mean",
    )
    name = graph.free(f"{place.name}/loss")
    graph.build.add(layer, source, name=name)
    return place.name if logits else name
