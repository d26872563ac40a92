"""Wrapper layers."""

from dataclasses import replace

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras.calls import LayerConfig
from sparkdl.interop.keras.places import Place, no_masks
from sparkdl.nn import layers as nn

OTHERWISE = ("Softmax", "UnitNormalization")  # masked steps are other numbers in Keras


class StepCall:
    """Context for a rule on one step, which records layers instead of adding them."""

    def __init__(self, at, layer, place):
        self.outer, self.layer, self.inputs = at, layer, [place]
        self.options, self.version, self.kind = layer.options(), at.version, layer.kind
        self.added = []

    def look_inside(self, trainable):
        self.outer.look_inside(trainable)

    def one(self):
        return self.inputs[0]

    def plain(self, place):
        if place.turned:
            raise UnsupportedError("a step that is turned twice")
        return place

    def first(self, place):
        if len(place.shape) > 2:
            raise UnsupportedError("TimeDistributed of layers over images is not supported")
        return place

    images, unmasked = first, plain

    def add(self, layer, *places, takes=(), helper=False, **others):
        [place] = places
        self.added.append((layer, list(takes)))
        return Place(name="step", shape=tuple(layer.out_shape(place.shape)))


def time_distributed(at, rules):
    """Applies each layer that the inner rule adds to every step."""
    x = at.plain(at.one())
    layer = LayerConfig(at.options.take("layer"), [])
    layer.refuse_custom()
    if layer.kind not in rules:
        raise UnsupportedError(f"TimeDistributed of {layer.kind} is not supported")
    if layer.kind in OTHERWISE:
        no_masks([x], f"TimeDistributed of {layer.kind}")
    at.look_inside(layer.trainable)
    step = StepCall(at, layer, Place(name="step", shape=x.shape[1:]))
    result = rules[layer.kind](step)
    step.options.finish()
    if x.masked and len(result.shape) != 1:
        raise UnsupportedError("steps of several axes in a sequence with a mask are not supported")
    for inner, takes in step.added:
        moved = [replace(take, path="/".join(filter(None, ("layer", take.path)))) for take in takes]
        x = at.add(nn.TimeDistributed(layer=inner), x, takes=moved)
    return x
