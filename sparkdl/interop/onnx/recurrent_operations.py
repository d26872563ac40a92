"""Recurrent operations as ONNX nodes, whose gates have another order."""

import numpy as np


def recurrent(op, order, biases):
    """Returns a writer.

    Parameters
    ----------
    op : "LSTM", "GRU" or "RNN"
    order : indices in sparkdl's weights of ONNX's gates
    biases : function (sparkdl's b by gates, order, op) -> (bias of x, bias of h), each by gates
    """

    def write(writer, node):
        ours = node.op
        writer.need(not ours.keep and not ours.mask, "a mask")
        x, wx, wh, b, *states = node.inputs
        for tensor in (wx, wh, b):
            writer.need(tensor.value is not None, "a weight that is computed")
        units = wh.shape[0]
        of_x, of_h = biases(b.value.reshape(-1, units), order, ours)
        tensors = [gates(wx.value, order), gates(wh.value, order), [*of_x, *of_h]]
        names = [writer.constant(flat(tensor, units)) for tensor in tensors]
        steps = writer.add("Transpose", writer.name(x), perm=[1, 0, 2])
        begun, peepholes = states[: ours.states], states[ours.states :]
        first = [initial(writer, state) for state in begun]
        weights = [
            writer.constant(p.value.reshape(3, units)[[0, 2, 1]].reshape(1, -1)) for p in peepholes
        ]
        direction = "reverse" if ours.backwards else "forward"
        inputs = [steps, *names, "", *first, *weights]
        while inputs[-1] == "":
            inputs.pop()
        count = 1 + ours.states
        attributes = {"hidden_size": units, "direction": direction} | functions(op, ours)
        found = writer.add(op, *inputs, outputs=count, **attributes)
        y = writer.add("Squeeze", found[0], writer.integers(1))
        last = [writer.add("Squeeze", name, writer.integers(0)) for name in found[1:]]
        return [writer.add("Transpose", y, perm=[1, 0, 2]), *last, ""]

    return write


def gates(weights, order):
    """Returns the gates' blocks of columns in ONNX's order, each (H, inputs)."""
    blocks = np.split(weights, len(order), axis=1)
    return [blocks[place].T for place in order]


def flat(blocks, units):
    """Returns blocks stacked along the first axis, below an axis for the direction."""
    whole = np.concatenate([np.asarray(block, np.float32) for block in blocks])
    return whole.reshape(1, *((-1,) if whole.ndim == 1 else whole.shape))


def initial(writer, state):
    """Returns the name of an initial state (1, N, H); "" for zeros, ONNX's default."""
    if state.value is not None and not np.any(state.value):
        return ""
    return writer.add("Unsqueeze", writer.name(state), writer.integers(0))


def functions(op, ours):
    """Returns the attributes of the gates' activations."""
    if op == "RNN":
        return {"activations": [ours.activation.capitalize()]}
    last = {"LSTM": ["Tanh", "Tanh"], "GRU": ["Tanh"]}[op]
    given = {"linear_before_reset": int(ours.reset_after)} if op == "GRU" else {}
    if ours.slope is None:
        return given | {"activations": ["Sigmoid", *last]}
    hard = {"activation_alpha": [ours.slope], "activation_beta": [0.5]}
    return given | hard | {"activations": ["HardSigmoid", *last]}


def one_bias(b, order, ours):
    """Returns sparkdl's bias as the bias of x, and zeros as the bias of h."""
    return [b[place] for place in order], [np.zeros_like(b[0])] * len(order)


def gru_bias(b, order, ours):
    """Returns the biases of a GRU; with `reset_after`, the candidate has its own bias of h."""
    of_x, of_h = one_bias(b[:3], order, ours)
    return of_x, ([*of_h[:2], b[3]] if ours.reset_after else of_h)


RECURRENT_WRITERS = {
    "Gru": recurrent("GRU", (0, 1, 2), gru_bias),
    "Lstm": recurrent("LSTM", (0, 3, 1, 2), one_bias),
    "SimpleRnn": recurrent("RNN", (0,), one_bias),
}
