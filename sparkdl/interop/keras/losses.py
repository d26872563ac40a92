"""Losses of a compiled Keras model, as loss layers after its outputs."""

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras.options import object_of
from sparkdl.nn import layers as nn
from sparkdl.nn import losses
from sparkdl.nn.activations import Sigmoid, Softmax
from sparkdl.nn.networks.last_activation import without_activation

REDUCTIONS = (None, "auto", "sum_over_batch_size", "mean_with_sample_weight", "mean")


def cross_entropy(labels):
    """Returns the rule for a loss of softmax probabilities."""

    def translate(options):
        options.only(label_smoothing=0.0, ignore_class=None)
        return losses.SoftmaxCrossEntropy(labels=labels), Softmax, options.flag("from_logits")

    return translate


def binary(options):
    options.only(label_smoothing=0.0)
    return losses.SigmoidCrossEntropy(averaged=True), Sigmoid, options.flag("from_logits")


def kl_divergence(options):
    return losses.KlDivergence(), Softmax, False


def huber(options):
    """Returns a Huber loss; Keras does not save delta, and always loads 1.0."""
    return losses.Huber(delta=options.number("delta", 1.0)), None, False


def plain(kind):
    return lambda options: (kind(), None, False)


RULES = {
    "categoricalcrossentropy": cross_entropy("one_hot"),
    "sparsecategoricalcrossentropy": cross_entropy("class"),
    "binarycrossentropy": binary,
    "kldivergence": kl_divergence,
    "huber": huber,
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


def loss_of(value):
    """Returns (loss, the activation function that it includes, whether its input is logits)."""
    name, options = object_of(value)
    key = name.replace("_", "").lower()
    key = SHORT.get(key, key)
    if key not in RULES:
        raise UnsupportedError(f"loss {name!r} is not supported")
    found = RULES[key](options)
    options.need(options.take("reduction") in REDUCTIONS, "reduction", options.values)
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
    loss, held, logits = loss_of(value)
    if len(place.shape) > 2:
        raise UnsupportedError("a loss of images is not supported")
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
