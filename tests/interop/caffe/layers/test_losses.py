"""Caffe's losses of a batch: values, and gradients by finite differences."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.engine import ops
from sparkdl.errors import UnsupportedError
from sparkdl.interop.caffe.graphs.net import load_net
from sparkdl.interop.caffe.layers import LAYERS
from sparkdl.interop.caffe.messages.blobs import write_blob
from sparkdl.interop.caffe.messages.prototxt import parse_text
from sparkdl.interop.caffe.messages.schema import NetParameter
from sparkdl.interop.caffe.nets.phases import state_of
from sparkdl.nn import forward
from sparkdl.nn.execution.scoring import example_losses
from tests.interop.caffe.layer_cases import CASES, LOSSES
from tests.interop.caffe.test_layers import differences
from tests.nn.support import value_and_gradients

N, BLOBS = 3, "abc"
GAIN = np.array([[1, 0.5, 0], [0, 2, 0.25], [0.5, 0, 1]], np.float32)
ELSEWHERE = {"Accuracy", "ArgMax", "Data", "ImageData", "HDF5Data", "MemoryData", "DummyData"}
ELSEWHERE |= {"Input", "WindowData", "CoSData", "Silence", "HDF5Output", "Parameter", "Python"}


def test_every_type_has_a_case():
    """Types without a case are tested in test_net.py."""
    assert {case.kind for case in [*CASES, *LOSSES]} | ELSEWHERE == set(LAYERS)


def net_of(case, data="Input"):
    """Returns a net with the loss after identity layers, so that no score is taken for labels."""
    blobs = BLOBS[: len(case.shapes)]
    scores = len(blobs) - 1
    tops = " ".join(f"top: '{b}'" for b in blobs)
    text = f"layer {{ name: 'in' type: '{data}' {tops} }}"
    for blob in blobs[:scores]:
        text += f"layer {{ name: 'z{blob}' type: 'Power' bottom: '{blob}' top: 'z{blob}' }}"
    bottoms = " ".join(f"bottom: 'z{b}'" for b in blobs[:scores])
    text += f"layer {{ name: 'y' {case.text} top: 'y' {bottoms} bottom: '{blobs[-1]}' }}"
    shapes = dict(zip(blobs, case.shapes))
    return load_net(parse_text(text, NetParameter), state_of("TRAIN"), shapes)


def values_of(case, rng):
    found = {}
    for place, (blob, shape) in enumerate(zip(BLOBS, case.shapes)):
        x = rng.normal(size=(N, *shape))
        x = rng.uniform(0.1, 0.9, x.shape) if case.positive else x
        below = (case.whole or {}).get(place)
        found[blob] = x if below is None else rng.integers(0, below, x.shape)
    return found


def batch_loss(net, inputs, labels):
    result = forward(net.conf, {}, {}, inputs, training=True)
    columns = dict.fromkeys(net.conf.label_columns, labels)
    return ops.mean(example_losses(net.conf, result, columns))


@pytest.mark.parametrize("case", LOSSES, ids=str)
def test_loss(case, rng, tmp_path):
    write_blob(tmp_path / "gain", GAIN[None, None])
    case = replace(case, text=case.text.replace("FILE", str(tmp_path / "gain")))
    net, values = net_of(case), values_of(case, rng)
    *scores, last = values
    inputs = {name: values[name] for name in scores}

    def theirs(name, x):
        now = {k: x if k == name else v for k, v in values.items()}
        return case.expected({"gain": GAIN}, *now.values())

    assert net.conf.label_columns.keys() == {"labels"} and last not in net.conf.input_shapes
    loss, grads = value_and_gradients(
        lambda *xs: batch_loss(net, dict(zip(scores, xs)), values[last]), *inputs.values()
    )
    assert loss == pytest.approx(theirs("", None), rel=1e-6)
    for (name, x), grad in zip(inputs.items(), grads, strict=True):
        np.testing.assert_allclose(grad, differences(theirs, name, x), rtol=1e-4, atol=1e-6)


REFUSED = {
    "type: 'SigmoidCrossEntropyLoss' loss_param { ignore_label: 1 normalization: VALID }": "VALID",
    "type: 'InfogainLoss'": "must have its matrix in a file",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_supported(text):
    case = replace(LOSSES[0], text=text)
    with pytest.raises(UnsupportedError, match=REFUSED[text]):
        net_of(case)
