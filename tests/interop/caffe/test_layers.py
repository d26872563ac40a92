"""Every type of Caffe layer: outputs by its definition, gradients by finite differences."""

import numpy as np
import pytest

from sparkdl.engine import ops
from sparkdl.interop.caffe.graphs.net import load_net
from sparkdl.interop.caffe.messages.prototxt import parse_text
from sparkdl.interop.caffe.messages.schema import NetParameter
from sparkdl.interop.caffe.nets.phases import state_of
from sparkdl.nn import forward
from tests.interop.caffe.layer_cases import CASES
from tests.nn.support import value_and_gradients

N, STEP = 3, 1e-6
BOTTOMS, TOPS = "abc", ("y", "z", "w")


def net_of(case):
    """Returns a net that consists of the layer, named y."""
    bottoms = BOTTOMS[: len(case.shapes)]
    text = f"layer {{ name: 'in' type: 'Input' {named('top', bottoms)} }}"
    text += f"layer {{ name: 'y' {case.text} "
    text += f"{named('bottom', bottoms)} {named('top', TOPS[: case.tops])} }}"
    shapes = dict(zip(bottoms, case.shapes))
    if case.kind in ("Split", "ArgMax"):  # they vanish without a layer that reads them
        last = TOPS[case.tops - 1]
        text += f"layer {{ name: 'end' type: 'Power' bottom: '{last}' top: 'end' }}"
    return load_net(parse_text(text, NetParameter), state_of("TEST"), shapes)


def named(field, blobs):
    return " ".join(f"{field}: '{blob}'" for blob in blobs)


def inputs_of(case, rng):
    """Returns {blob: (N, ...)}, with whole numbers where the case asks for them."""
    found = {}
    for place, (blob, shape) in enumerate(zip(BOTTOMS, case.shapes)):
        x = rng.normal(size=(N, *shape))
        x = np.abs(x) + 0.1 if case.positive else x
        below = (case.whole or {}).get(place)
        found[blob] = x if below is None else rng.integers(0, below, x.shape).astype(float)
    return found


def arrays_of(net, rng):
    params = {n: rng.normal(size=shape) for n, shape in net.conf.params_layout.entries}
    buffers = {n: rng.uniform(0.5, 2, shape) for n, shape in net.conf.buffers_layout.entries}
    return params, buffers


def tops_of(net, case, params, buffers, inputs):
    """Returns the net's values of the layer's tops."""
    sources = [net.blobs[top] for top in TOPS[: case.tops]]
    used = {name: inputs[name] for name in net.conf.input_shapes}
    asked = [name for name in sources if name not in inputs]
    result = forward(net.conf, params, buffers, used, outputs=asked)
    return [inputs[s] if s in inputs else result.activations[s] for s in sources]


def expected_of(case, arrays, inputs):
    found = case.expected(arrays, *inputs.values())
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_forward(case, rng):
    net, inputs = net_of(case), inputs_of(case, rng)
    params, buffers = arrays_of(net, rng)
    ours = tops_of(net, case, params, buffers, inputs)
    theirs = expected_of(case, params | buffers, inputs)
    for y, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(y, wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_backward(case, rng):
    net, inputs = net_of(case), inputs_of(case, rng)
    params, buffers = arrays_of(net, rng)
    first = expected_of(case, params | buffers, inputs)
    weights = [rng.normal(size=np.shape(y)) for y in first]
    used = net.conf.input_shapes
    moving = {k: x for i, (k, x) in enumerate(inputs.items()) if i not in (case.whole or {})}
    moving = {k: x for k, x in moving.items() if k in used} | params

    def ours(*arrays):
        now = dict(zip(moving, arrays, strict=True))
        mine = {name: now.get(name, x) for name, x in inputs.items()}
        own = {name: now[name] for name in params}
        ys = tops_of(net, case, own, buffers, mine)
        total = [ops.sum(ops.mul(y, w)) for y, w in zip(ys, weights, strict=True)]
        return sum(total[1:], total[0])

    def theirs(name, values):
        mine = {k: values if k == name else x for k, x in inputs.items()}
        own = {k: values if k == name else x for k, x in params.items()}
        ys = expected_of(case, own | buffers, mine)
        return sum((y * w).sum() for y, w in zip(ys, weights, strict=True))

    _, grads = value_and_gradients(ours, *moving.values())
    for (name, values), grad in zip(moving.items(), grads, strict=True):
        np.testing.assert_allclose(
            grad, differences(theirs, name, values), rtol=1e-4, atol=1e-6, err_msg=name
        )


def differences(function, name, values):
    """Returns the gradient of `function(name, values)` by central differences."""
    grad = np.empty_like(values)
    for at in np.ndindex(values.shape):
        up, down = values.copy(), values.copy()
        up[at] += STEP
        down[at] -= STEP
        grad[at] = (function(name, up) - function(name, down)) / (2 * STEP)
    return grad
