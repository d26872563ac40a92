"""Masks that Keras passes on by itself, which files of functional models hold as operations.

Keras 3 writes the mask of `Embedding(mask_zero=True)` as the operation NotEqual, that of `Masking`
as NotEqual and Any, and gives their tensors to the calls of later layers.
"""

from sparkdl.errors import UnsupportedError

OPERATIONS = ("NotEqual", "Any")


class AutomaticMasks:
    """Finds which masks of a model are those that its tensors carry anyway.

    A mask is (operation, tensor, number that stands for padding).

    Parameters
    ----------
    layers : list of LayerConfig
    outputs : list of (layer, call, output)
        Tensors that the model gives.
    """

    def __init__(self, layers, outputs):
        self.operations = operations_for_masks(layers, outputs)
        self._computed, self._carried = {}, {}
        for kind in OPERATIONS:  # one reads the other
            for layer in layers:
                if layer.kind == kind:
                    self._note(layer)

    def _note(self, layer):
        for number, call in enumerate(layer.calls):
            tensor = layer.name, number, 0
            if layer.kind == "NotEqual" and len(call.sources) == 1:
                padding = call.options.get("argument 1")
                self._computed[tensor] = mask_of("NotEqual", call, padding)
            elif layer.kind == "Any" and is_over_features(layer.config):
                before = self._computed.get(call.sources[0]) if call.sources else None
                self._computed[tensor] = before and ("Any", *before[1:])

    def check(self, call, given):
        """Raises UnsupportedError for a mask other than that of the first of the `given` Places."""
        carried = self._carried.get(call.sources[0]) if call.sources else None
        for tensor in call.masks:
            same = carried is not None and self._computed.get(tensor) == carried
            if not (same and (given[0] is None or given[0].masked)):
                raise UnsupportedError("a mask given in a call is not supported; Masking makes one")

    def carry(self, layer, number, call):
        """Notes the mask of the output of a call; without one of its own, that of its sources."""
        if layer.kind == "Embedding" and layer.config.get("mask_zero"):
            mask = mask_of("NotEqual", call, 0)
        elif layer.kind == "Masking":
            mask = mask_of("Any", call, layer.config.get("mask_value", 0))
        else:
            masks = {self._carried.get(tensor) for tensor in call.sources} - {None}
            mask = masks.pop() if len(masks) == 1 else None
        self._carried[layer.name, number, 0] = mask


def operations_for_masks(layers, outputs):
    """Returns the names of the operations whose results are only masks of calls."""
    found = {layer.name for layer in layers if layer.kind in OPERATIONS}
    while True:
        read = {tensor[0] for tensor in outputs}
        for layer in layers:
            if layer.name not in found:
                read |= {tensor[0] for call in layer.calls for tensor in call.sources}
        if not found & read:
            return found
        found -= read


def mask_of(operation, call, padding):
    """Returns the mask of a call's first source, or None if the padding is not a number."""
    if not call.sources or isinstance(padding, bool) or not isinstance(padding, int | float):
        return None
    return operation, call.sources[0], padding


def is_over_features(config):
    """Returns whether Any looks at the numbers of each step."""
    return config.get("axis") in (-1, [-1]) and not config.get("keepdims")
