"""Layers for calls of aten operations on sequences."""

import logging

from sparkdl.interop.constant_operands import line, make_threshold
from sparkdl.interop.torch.aten.trained_arrays import is_trained
from sparkdl.nn import layers as nn

log = logging.getLogger(__name__)
RECURRENT = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn_tanh": nn.SimpleRnn}
PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def in_time_order(node, layer, **arrays):
    """Adds a layer over channels; torch has the channels of sequences first, sparkdl last."""
    x = node.place()
    if len(x.shape) != 2:
        return node.add(layer, x, **arrays)
    turned = node.add(nn.Permute(order=(1, 0)), x)
    y = node.add(layer, turned, **arrays)
    return node.add(nn.Permute(order=(1, 0)), y) if len(y.shape) == 2 else y


def embedding(node):
    W, ids = node.tensor("weight"), node.place("indices")
    layer = nn.EmbeddingSequence(vocabulary_size=len(W), units=W.shape[1])
    if not ids.shape:
        layer = nn.Embedding(vocabulary_size=len(W), units=W.shape[1])
    node.need(not node["scale_grad_by_freq"], "scale_grad_by_freq")
    y, padding = node.add(layer, ids, weight=W), node["padding_idx"]
    return without_slope(node, y, ids, padding) if is_trained(W) and padding >= 0 else y


def without_slope(node, y, ids, padding):
    """Replaces the rows of padding by a constant, which is not trained."""
    node.need(len(ids.shape) == 1, f"padding_idx with indices of {ids.shape}")
    apart = node.add(nn.Activation("abs_val"), node.add(line(shift=-float(padding)), ids))
    shown = node.add(make_threshold(0.5), apart)
    shown = node.add(nn.Reshape(shape=(*ids.shape, 1)), shown)
    y, row = node.add(nn.Broadcasting(operation="product"), y, shown), node["weight"][padding]
    if not row.any():
        return y
    row = row.detach()
    kept = node.add(nn.Dense(units=len(row)), shown, weight=-row.reshape(-1, 1), bias=row)
    return node.add(nn.ElementWise(operation="add"), y, kept)


def recurrent(kind):
    """Returns the rule of stacked recurrent layers with initial states of zeros."""

    def translate(node):
        hx = node["hx"] if isinstance(node["hx"], list | tuple) else [node["hx"]]
        zeros = all(hasattr(state, "detach") and not state.any() for state in hx)
        node.need(zeros, "a first state other than zeros")
        node.need(node["batch_first"], "batch_first=False")
        node.need(node["has_biases"], "bias=False")
        ways = 2 if node["bidirectional"] else 1
        count, y = len(PARTS), node.place()
        params = node["params"]
        states = []
        for number in range(node["num_layers"]):
            first = number * ways * count
            named = dict(zip(PARTS, params[first : first + count], strict=True))
            units = named["weight_hh"].shape[1]
            node.need(len(named["weight_ih"]) % units == 0, "a projection")
            layer = RECURRENT[kind](units=units)
            warn_of_biases(node, named)
            if ways == 2:
                back = params[first + count : first + 2 * count]
                named |= {f"{p}_reverse": one for p, one in zip(PARTS, back, strict=True)}
                layer = nn.Bidirectional(layer=layer)
            y = node.add(layer, y, **named)
            states += [(y, way, units) for way in range(ways)]
            if node["dropout"] and node["train"] and number + 1 < node["num_layers"]:
                y = node.add(nn.Dropout(rate=node["dropout"]), y)
        return y, LastStates(states)  # an LSTM's last cells are not available

    return translate


class LastStates(tuple):
    """The last states of stacked recurrent layers, in torch's order.

    Each has all states of its layer, 1 if it runs backwards, and its number of units.
    """


def last_state(node, index):
    """Returns the Place of one of LastStates; a backward layer ends at the first step."""
    y, way, units = node["self"][index]
    if y.shape[-1] > units:
        y = node.add(nn.Subset(start=way * units, stop=(way + 1) * units, axis=1), y)
    if not way:
        return node.add(nn.LastTimeStep(), y)
    return node.add(nn.Flatten(), node.add(nn.Subset(start=0, stop=1, axis=0), y))


def warn_of_biases(node, tensors):
    """Warns that a bias is the sum of two that torch trains separately.

    Both have the gradient of the sum, so in torch the sum moves twice as far; in a GRU this holds
    for the gates. A rate factor of 2 would be lost if the layer is frozen or slowed down.
    """
    if is_trained(tensors["bias_ih"]):
        log.warning(
            "%s: one bias replaces the two of torch, whose sum moves twice as far in an update",
            node.module,
        )


SEQUENCE_RULES = {
    "embedding": embedding,
    "gru": recurrent("gru"),
    "lstm": recurrent("lstm"),
    "rnn_tanh": recurrent("rnn_tanh"),
}
