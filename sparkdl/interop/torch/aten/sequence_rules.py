"""Layers for calls of aten operations on sequences, and on two operands."""

from sparkdl.interop.torch.aten.node import Place
from sparkdl.nn import layers as nn

RECURRENT = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn_tanh": nn.SimpleRnn}
PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def in_time_order(node, layer, **arrays):
    """Adds a layer of channels; torch has those of sequences in front, we behind."""
    x = node.place()
    if len(x.shape) != 2:
        return node.add(layer, x, **arrays)
    turned = node.add(nn.Permute(order=(1, 0)), x)
    y = node.add(layer, turned, **arrays)
    return node.add(nn.Permute(order=(1, 0)), y) if len(y.shape) == 2 else y


def embedding(node):
    W, ids = node.array("weight"), node.place("indices")
    layer = nn.EmbeddingSequence(vocabulary_size=len(W), units=W.shape[1])
    if not ids.shape:
        layer = nn.Embedding(vocabulary_size=len(W), units=W.shape[1])
    return node.add(layer, ids, weight=W)


def recurrent(kind):
    """Returns the rule of recurrent layers, one behind the other, that begin with zeros."""

    def translate(node):
        hx = node["hx"] if isinstance(node["hx"], list | tuple) else [node["hx"]]
        zeros = all(hasattr(state, "detach") and not state.any() for state in hx)
        node.need(zeros, "a first state other than zeros")
        node.need(node["batch_first"], "batch_first=False")
        node.need(node["has_biases"], "bias=False")
        ways = 2 if node["bidirectional"] else 1
        count, y = len(PARTS), node.place()
        params = [one.detach().numpy() for one in node["params"]]
        for number in range(node["num_layers"]):
            first = number * ways * count
            named = dict(zip(PARTS, params[first : first + count], strict=True))
            units = named["weight_hh"].shape[1]
            node.need(len(named["weight_ih"]) % units == 0, "a projection")
            layer = RECURRENT[kind](units=units)
            if ways == 2:
                back = params[first + count : first + 2 * count]
                named |= {f"{p}_reverse": one for p, one in zip(PARTS, back, strict=True)}
                layer = nn.Bidirectional(layer=layer)
            y = node.add(layer, y, **named)
            if node["dropout"] and number + 1 < node["num_layers"]:
                y = node.add(nn.Dropout(rate=node["dropout"]), y)
        return (y,)  # the last states are not there

    return translate


def select(node):
    """One step of a sequence."""
    x, axis = node.place("self"), node["dim"]
    node.need(axis == 1 and len(x.shape) == 2, f"one of axis {axis} of {x.shape}")
    index = node["index"] % x.shape[0]
    if index == x.shape[0] - 1:
        return node.add(nn.LastTimeStep(), x)
    return node.add(nn.Flatten(), node.add(nn.Subset(start=index, stop=index + 1, axis=0), x))


def arithmetic(operation):
    """Returns the rule of an operation on two operands, one of which may be constant."""

    def translate(node):
        x, other = node["self"], node["other"]
        node.need(node["alpha"] in (None, 1), f"alpha={node['alpha']}")
        if isinstance(x, Place) and isinstance(other, Place):
            return of_two(node, operation, x, other)
        if not isinstance(x, Place) and operation in ("add", "product"):
            x, other = other, x
        node.need(isinstance(x, Place), "a constant on the left")
        if hasattr(other, "detach") and other.numel() > 1:
            return with_array(node, operation, x, other)
        number = float(other)
        options = {
            "add": {"shift": number},
            "subtract": {"shift": -number},
            "product": {"scale": number},
            "divide": {"scale": 1 / number if number else None},
        }[operation]
        return node.add(nn.Activation({"type": "power", **options}), x)

    return translate


def of_two(node, operation, x, other):
    if x.shape == other.shape:
        node.need(operation != "divide", "a quotient")
        return node.add(nn.ElementWise(operation=operation), x, other)
    wide, narrow = (x, other) if node.shape == x.shape else (other, x)
    gate = narrow.shape == (wide.shape[0], *[1] * (len(wide.shape) - 1)) and len(wide.shape) > 2
    sound = gate and operation in ("add", "product")
    node.need(sound, f"broadcasting of {x.shape} and {other.shape}")
    flat = node.add(nn.Flatten(), narrow)
    return node.add(nn.Broadcasting(operation=operation), wide, flat)


def with_array(node, operation, x, other):
    """Adds places to a sequence: a parameter (1, T, F)."""
    shape = tuple(other.shape)
    fits = len(x.shape) == 2 and shape in (x.shape, (1, *x.shape)) and operation == "add"
    node.need(fits, f"a constant of shape {shape} with examples of {x.shape}")
    return node.add(nn.PositionEmbedding(), x, weight=other.detach().numpy().reshape(x.shape))


SEQUENCE_RULES = {
    "add": arithmetic("add"),
    "div": arithmetic("divide"),
    "embedding": embedding,
    "gru": recurrent("gru"),
    "lstm": recurrent("lstm"),
    "mul": arithmetic("product"),
    "rnn_tanh": recurrent("rnn_tanh"),
    "select": select,
    "sub": arithmetic("subtract"),
}
