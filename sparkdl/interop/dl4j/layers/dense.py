"""Dense layers, whose weights (in, out) are stored in Fortran order, followed by the bias."""

from sparkdl.errors import UnsupportedError
from sparkdl.interop.dl4j.members import activation, loss_of
from sparkdl.interop.dl4j.places import array
from sparkdl.nn import layers as nn


def weights(layer, n_in, units):
    """Returns the Takes of W and b."""
    found = [array("W", (n_in, units), "F")]
    return [*found, array("b", (units,), bias=True)] if layer.bias else found


def activated(at, place=None):
    """Returns {"activation": ...} for a layer."""
    function = activation(at.options.take("activationfn"))
    if place is not None and len(place.shape) > 2 and function == "softmax":
        raise UnsupportedError("softmax of images is not supported")
    return {"activation": function}


def n_in(at, place):
    """Returns the width of the input, which must match the file."""
    width = place.shape[-1]
    at.options.need(at.options.size("nin", width) in (0, width), "nIn", at.options.values)
    return width


def dense(at):
    x = at.rows(at.one())
    at.options.only(haslayernorm=False)
    units = at.options.size("nout")
    layer = nn.Dense(
        units=units,
        bias=at.options.flag("hasbias", True),
        **activated(at),
        **at.trained(),
    )
    return at.add(layer, x, takes=weights(layer, n_in(at, x), units))


def output(kind, at):
    x = at.rows(at.one())
    function, units = activated(at)["activation"], at.options.size("nout")
    given = {"units": units, "bias": at.options.flag("hasbias", True), **at.trained()}
    value = at.options.take("lossfn") or at.options.take("lossfunction")
    if not at.translation.training:
        layer = nn.Dense(activation=function, **given)
        return at.add(layer, x, takes=weights(layer, n_in(at, x), units))
    loss, held = loss_of(value, function)
    if held or function == "identity":
        layer = kind(loss=loss, **reduction(x), **given)
        return at.add(layer, x, takes=weights(layer, n_in(at, x), units))
    layer = nn.Dense(activation=function, **given)
    y = at.add(layer, x, takes=weights(layer, n_in(at, x), units), helper=True)
    return at.add(nn.LossLayer(loss=loss, **reduction(y)), y)


def reduction(place):
    """Returns the reduction: losses of steps and places are summed, then averaged by example."""
    return {"reduction": "sum"} if len(place.shape) > 1 else {}


def loss(at):
    x, function = at.one(), activated(at)["activation"]
    at.unused("nin", "nout", "hasbias", "poolingdimensions", "format")
    value = at.options.take("lossfn") or at.options.take("lossfunction")
    if not at.translation.training:
        return at.add(nn.Activation(function), x)
    found, held = loss_of(value, function)
    if not held and function != "identity":
        x = at.add(nn.Activation(function), x, helper=True)
    return at.add(nn.LossLayer(loss=found, **reduction(x)), x)


def embedding(at):
    x, units, size = at.one(), at.options.size("nout"), at.options.size("nin")
    layer = nn.Embedding(
        vocabulary_size=size,
        units=units,
        bias=at.options.flag("hasbias", True),  # absent in 0.9
        **activated(at),
        **at.trained(),
    )
    return at.add(layer, x, takes=weights(layer, size, units))


def embedding_sequence(at):
    x, units, size = at.one(), at.options.size("nout"), at.options.size("nin")
    layer = nn.EmbeddingSequence(
        vocabulary_size=size,
        units=units,
        bias=at.options.flag("hasbias", False),
        **activated(at),
        **at.trained(),
    )
    return at.add(layer, x, takes=weights(layer, size, units))


def element_wise(at):
    x = at.one()
    width = n_in(at, x)
    at.options.need(at.options.size("nout", width) == width, "nOut", at.options.values)
    layer = nn.ElementWiseMultiplication(**activated(at), **at.trained())
    return at.add(layer, x, takes=[array("W", (width,)), array("b", (width,), bias=True)])


DENSE = {
    "cnnloss": loss,
    "dense": dense,
    "elementwisemultiplication": element_wise,
    "embedding": embedding,
    "embeddingsequence": embedding_sequence,
    "loss": loss,
    "output": lambda at: output(nn.Output, at),
    "rnnloss": loss,
    "rnnoutput": lambda at: output(nn.RnnOutput, at),
}
