"""Masks of steps, known by what they are computed from, and the operations of files that make them.

Keras 3 writes the mask of `Embedding(mask_zero=True)` as the operation NotEqual, that of `Masking`
as NotEqual and Any, those of joined sequences as several more, and gives their tensors to the
calls of later layers. A mask is (operation, tensor, number that stands for padding), ("all", steps)
or ("joined", masks one behind the other); a "wide" one has an axis of features, too.
"""

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras.places import Place

UNKNOWN = ("another",)
ZEROS = ("zeros",)


def mask_of_words(place):
    return "NotEqual", place.name, 0


def mask_of_numbers(place, padding):
    return "Any", place.name, padding


def mask_or_all(place):
    """Returns the mask of a Place of sequences."""
    return place.mask or ("all", place.shape[0])


def joined_mask(masks):
    """Returns the mask of sequences one behind the other."""
    if all(mask[0] == "all" for mask in masks):
        return "all", sum(mask[1] for mask in masks)
    return "joined", *masks


def not_equal(given, call, config):
    padding = call.options.get("argument 1")
    number = isinstance(padding, int | float) and not isinstance(padding, bool)
    sound = len(given) == 1 and isinstance(given[0], Place) and number
    return ("NotEqual", given[0].name, padding) if sound else UNKNOWN


def any_feature(given, call, config):
    """Returns the mask of steps of which a number counts."""
    [mask] = given
    if config.get("axis") not in (-1, [-1]) or config.get("keepdims"):
        return UNKNOWN
    if mask[0] == "wide":
        return mask[1]
    return ("Any", *mask[1:]) if mask[0] == "NotEqual" else UNKNOWN


def expand(given, call, config):
    return ("wide", given[0]) if config.get("axis") == -1 else UNKNOWN


def either(given, call, config):
    """Returns what two masks have in common if they are the same, or one is nothing but zeros."""
    masks = {mask for mask in given if mask != ZEROS}
    return masks.pop() if len(masks) == 1 else UNKNOWN


def zeros(given, call, config):
    return ZEROS


def ones(given, call, config):
    sequences = isinstance(given[0], Place) and len(given[0].shape) == 2
    return ("wide", ("all", given[0].shape[0])) if sequences else UNKNOWN


def concatenated(given, call, config):
    if any(mask[0] != "wide" for mask in given):
        return UNKNOWN
    if config.get("axis") in (1, -2):
        return "wide", joined_mask([mask[1] for mask in given])
    return either(given, call, config)


OPERATIONS = {
    "NotEqual": not_equal,
    "Any": any_feature,
    "ExpandDims": expand,
    "LogicalOr": either,
    "ZerosLike": zeros,
    "OnesLike": ones,
    "Concatenate": concatenated,
}


def is_operation(layer):
    """Returns whether a LayerConfig is one of the operations, not a layer of the same class."""
    module = layer.document.get("module")
    return layer.kind in OPERATIONS and isinstance(module, str) and ".ops." in module


def operations_for_masks(layers, outputs):
    """Returns the names of the operations whose results are only masks of calls."""
    found = {layer.name for layer in layers if is_operation(layer)}
    while True:
        read = {tensor[0] for tensor in outputs}
        for layer in layers:
            if layer.name not in found:
                read |= {tensor[0] for call in layer.calls for tensor in call.sources}
        if not found & read:
            return found
        found -= read


def computed_mask(layer, call, given):
    """Returns the mask that a call of an operation computes from Places and masks."""
    if not given or any(one is None for one in given):
        return UNKNOWN
    return OPERATIONS[layer.kind](given, call, layer.config)


def check_masks(masks, place):
    """Raises UnsupportedError for masks of a call other than that of its first Place."""
    if place is not None and any(mask != mask_or_all(place) for mask in masks):
        raise UnsupportedError("a mask given in a call is not supported; Masking makes one")
