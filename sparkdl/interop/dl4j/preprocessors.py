"""Deeplearning4j's input preprocessors, which convert between rows, sequences and images.

Steps that it turns into rows remain steps here, where a dense layer works on each step.
"""

from math import prod

from sparkdl.errors import UnsupportedError
from sparkdl.interop.dl4j.objects import object_of
from sparkdl.nn.layers import Flatten, Reshape


def preprocess(translation, value, place, name):
    """Adds a preprocessor; returns the Place of its output."""
    if value is None:
        return place
    kind, options = object_of(value, "a preprocessor", "preprocessor")
    if kind not in RULES:
        raise UnsupportedError(f"preprocessor {kind!r} is not supported")
    found = RULES[kind](translation, options, place, name)
    options.finish()
    return found


def image_shape(options):
    """Returns (channels, rows, columns)."""
    format_ = options.word("format", "nchw")
    options.need(format_ == "nchw", "format", format_)
    options.take("product")
    return tuple(options.size(n) for n in ("numchannels", "inputheight", "inputwidth"))


def to_rows(translation, options, place, name):
    shape = image_shape(options)
    if len(place.shape) == 1:
        return place
    options.need(place.shape == shape or 0 in shape, "inputHeight", shape)
    return translation.helper(Flatten(), place, name)


def to_images(translation, options, place, name):
    shape = image_shape(options)
    if len(place.shape) == 3:
        options.need(place.shape == shape, "inputHeight", shape)
        return place
    options.need(place.shape == (prod(shape),), "inputHeight", shape)
    return translation.helper(Reshape(shape=shape), place, name)


def steps_to_rows(translation, options, place, name):
    options.word("rnndataformat")
    return place


def rows_to_steps(translation, options, place, name):
    options.word("rnndataformat")
    if len(place.shape) != 2:
        raise UnsupportedError("rows that become the steps of sequences are not supported")
    return place


def in_turn(translation, options, place, name):
    """Applies several preprocessors in sequence."""
    values = options.take("inputpreprocessors", [])
    options.need(isinstance(values, list), "inputPreProcessors", values)
    for value in values:
        place = preprocess(translation, value, place, name)
    return place


RULES = {
    "cnntofeedforward": to_rows,
    "composable": in_turn,
    "composableinput": in_turn,
    "feedforwardtocnn": to_images,
    "feedforwardtornn": rows_to_steps,
    "rnntofeedforward": steps_to_rows,
}
