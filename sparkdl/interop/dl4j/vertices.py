"""Vertices of a ComputationGraph other than layers."""

from sparkdl.interop.dl4j.preprocessors import preprocess
from sparkdl.nn import layers as nn

OPERATIONS = {
    "add": "add",
    "average": "average",
    "max": "max",
    "product": "product",
    "subtract": "subtract",
}


def merge(at):
    """Concatenates features, or the channels of images."""
    axis = at.options.size("mergeaxis", 1)
    at.options.need(axis == 1 or (axis == -1 and len(at.inputs[0].shape) == 1), "mergeAxis", axis)
    at.unused("modified")
    if len(at.inputs) == 1:
        return at.add(nn.Activation("identity"), at.one())
    return at.add(nn.Merge(), *at.inputs)


def element_wise(at):
    operation = at.options.word("op", "add")
    at.options.need(operation in OPERATIONS, "op", operation)
    return at.add(nn.ElementWise(operation=OPERATIONS[operation]), *at.inputs)


def subset(at):
    first, last = at.options.size("from"), at.options.size("to")
    return at.add(nn.Subset(start=first, stop=last + 1), at.one())


def scale(at):
    return at.add(nn.Rescaling(scale=at.options.number("scalefactor", 1.0)), at.one())


def shift(at):
    return at.add(nn.Rescaling(offset=at.options.number("shiftfactor", 0.0)), at.one())


def reshape(at):
    order = at.options.word("reshapeorder", "c")
    at.options.need(order == "c", "reshapeOrder", order)
    shape = at.options.take("newshape")
    sound = isinstance(shape, list) and all(type(n) is int for n in shape) and shape[:1] == [-1]
    at.options.need(sound, "newShape", shape)
    at.options.only(maskshape=None)
    x = at.one()
    at.options.need(len(x.shape) != 2 and len(shape) != 3, "newShape", shape)  # features first
    return at.add(nn.Reshape(shape=tuple(shape[1:])), x)


def last_step(at):
    at.unused("maskarrayinputname", "maskarrayname")
    return at.translation.last_step(at.one(), at.name)


def reverse(at):
    at.unused("maskarrayinputname", "inputname")
    return at.add(nn.ReverseTime(), at.one())


def duplicate(at):
    """Repeats rows at each step of an input's sequences."""
    source = at.translation.places.get(at.options.take("inputname"))
    at.options.need(source is not None, "inputName", at.options.values)
    return at.add(nn.DuplicateToTime(), at.one(), source)


def stack(at):
    return at.add(nn.Stack(), *at.inputs)


def unstack(at):
    layer = nn.Unstack(index=at.options.size("from"), count=at.options.size("stacksize"))
    at.unused("forwardshape", "step")
    return at.add(layer, at.one())


def preprocessor(at):
    place = preprocess(at.translation, at.options.take("preprocessor"), at.one(), at.name)
    return at.add(nn.Activation("identity"), place)


RULES = {
    "duplicatetotimeseries": duplicate,
    "elementwise": element_wise,
    "lasttimestep": last_step,
    "merge": merge,
    "preprocessor": preprocessor,
    "reshape": reshape,
    "reversetimeseries": reverse,
    "scale": scale,
    "shift": shift,
    "stack": stack,
    "subset": subset,
    "unstack": unstack,
}
