"""Layers along the batch axis and other axes; layers that mix examples are refused by name."""

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.errors import UnsupportedError
from sparkdl.nn import forward
from sparkdl.nn.execution.replica import Replica
from tests.interop.caffe.layers.test_special_layers import DATA, SEQUENCES, load


def values_of(net, blob, **inputs):
    """Returns a blob, in float64, that depends on no parameters."""
    name = net.blobs[blob]
    params = {n: np.zeros(shape) for n, shape in net.conf.params_layout.entries}
    return forward(net.conf, params, {}, inputs, outputs=(name,)).activations[name]


PAIR = DATA.replace("top: 'x'", "top: 'a' top: 'b'")
STACKED = PAIR + "layer { name: 'both' type: 'Concat' bottom: 'a' bottom: 'b' top: 'both' "
STACKED += "concat_param { axis: 0 } } "
STACKED += "layer { name: 'y' type: 'Power' bottom: 'both' top: 'y' power_param { power: 2 } } "
APART = (
    "layer { name: 'part' type: 'Slice' bottom: 'y' top: 'c' top: 'd' slice_param { axis: 0 %s } }"
)


@pytest.mark.parametrize("points", ["", "slice_point: 64"])
def test_batches_behind_each_other_and_apart_again(points, rng):
    a, b = rng.normal(size=(2, 3, 4))
    net = load(STACKED + APART % points, a=(4,), b=(4,))
    np.testing.assert_allclose(values_of(net, "c", a=a, b=b), a**2)
    np.testing.assert_allclose(values_of(net, "d", a=a, b=b), b**2)
    assert "y" not in net.blobs and "both" not in net.blobs  # their rows belong to no example


JOINED = {
    APART % "slice_point: 10 slice_point: 30": "must undo a Concat along it",
    APART.replace("bottom: 'y'", "bottom: 'a'") % "": "got 2 tops of 1; the net does not say",
    "layer { name: 'l' type: 'EuclideanLoss' bottom: 'y' bottom: 'both' top: 'l' }": (
        "'y' must be one batch, got 2 that a Concat along the batch"
    ),
    "layer { name: 'l' type: 'Reduction' bottom: 'y' top: 'l' loss_weight: 1 }": "must be one",
    "layer { name: 'l' type: 'Eltwise' bottom: 'y' bottom: 'a' top: 'l' }": "equal numbers of",
}


@pytest.mark.parametrize("text", JOINED)
def test_batches_behind_each_other_that_nothing_parts(text):
    tops = "top: 'c' top: 'd' top: 'e'" if "10" in text else "top: 'c' top: 'd'"
    with pytest.raises(UnsupportedError, match=JOINED[text]):
        load(STACKED + text.replace("top: 'c' top: 'd'", tops), a=(4,), b=(4,))


STEP = DATA + "layer { name: 's' type: 'Reshape' bottom: 'x' top: 's' reshape_param { %s } } "
IN_FRONT = [
    "shape { dim: 1 } axis: 0 num_axes: 0",
    "shape { dim: -1 } axis: 0 num_axes: 0",
    "shape { dim: 1 dim: -1 dim: 4 }",
]
BACK = "layer { name: 'y' type: 'Reshape' bottom: 's' top: 'y' reshape_param { %s } }"


@pytest.mark.parametrize("shape", IN_FRONT)
def test_a_step_in_front_of_the_batch(shape, rng):
    """Caffe's (N, 4) becomes (1, N, 4), with the features along axis 2."""
    x = rng.normal(size=(3, 4))
    text = (
        STEP % shape
        + "layer { name: 'y' type: 'Softmax' bottom: 's' top: 'y' softmax_param { %s } }"
    )
    y = values_of(load(text % "axis: 2", x=(4,)), "y", x=x)
    np.testing.assert_allclose(y[:, 0], np.exp(x) / np.exp(x).sum(1, keepdims=True))
    with pytest.raises(UnsupportedError, match="axis must be an axis of .*got 1, which mixes"):
        load(text % "axis: 1", x=(4,))


@pytest.mark.parametrize("shape", ["axis: 0 num_axes: 1", "shape { dim: -1 dim: 4 }"])
def test_a_step_in_front_that_goes_again(shape, rng):
    x = rng.normal(size=(3, 4))
    net = load(STEP % IN_FRONT[0] + BACK % shape, x=(4,))
    np.testing.assert_array_equal(values_of(net, "y", x=x), x)


def test_steps_do_not_change_places_with_the_batch():
    text = SEQUENCES % ("", "") + BACK.replace("'y'", "'z'").replace("'s'", "'y'")
    with pytest.raises(UnsupportedError, match="must leave the batch as it is"):
        load(text % "shape { dim: -1 dim: 5 }")


WORDS = """
layer { name: 'in' type: 'Input' top: 'words' top: 'on'
        input_param { shape { dim: 1 dim: 8 } shape { dim: 1 dim: 8 } } }
layer { name: 'embed' type: 'Embed' bottom: 'words' top: 'embed'
        embed_param { input_dim: 9 num_output: 6 } }
layer { name: 'lstm' type: 'LSTM' bottom: 'embed' bottom: 'on' top: 'lstm'
        recurrent_param { num_output: 5 } }
layer { name: 'predict' type: 'InnerProduct' bottom: 'lstm' top: 'predict'
        inner_product_param { num_output: 9 axis: 2 } }
layer { name: 'probs' type: 'Softmax' bottom: 'predict' top: 'probs' softmax_param { axis: 2 } }
"""


def test_words_of_sequences_of_one_step():
    conf = load(WORDS).conf
    assert conf.input_shapes == {"words": (1,), "on": (1,)}
    shapes = {place.name: place.out_shape for place in conf.stack}
    assert (shapes["embed"], shapes["lstm"], shapes["probs"]) == ((1, 6), (1, 5), (1, 9))
    columns = {"words": np.array([[0.0], [8], [3]], np.float32), "on": np.zeros((3, 1), np.float32)}
    batch = Batch(columns=columns, ids=np.arange(3, dtype=np.uint64))
    found = Replica(conf).forward(batch, outputs=("probs",))["probs"]
    np.testing.assert_allclose(found.sum(2), 1, rtol=1e-5)


def test_what_reaches_an_lstm_without_steps():
    text = SEQUENCE + "layer { name: 'y' type: 'Pooling' bottom: 'x' top: 'y' "
    text += "pooling_param { kernel_size: 2 } } "
    with pytest.raises(UnsupportedError, match="'y' must be sequences .*puts one step in front"):
        load(text + LSTM, x=(3, 4, 4), on=(3,))


def test_the_batch_of_sequences_is_their_second_axis():
    text = WORDS + "layer { name: 'flat' type: 'InnerProduct' bottom: 'lstm' top: 'flat' "
    with pytest.raises(UnsupportedError, match="axis must be an axis of .*got 1, which mixes"):
        load(text + "inner_product_param { num_output: 2 } }")


CHANNELS = {
    "BatchNorm": "",
    "PReLU": "",
    "MVN": "",
    "Convolution": "convolution_param { num_output: 2 kernel_size: 1 }",
}


@pytest.mark.parametrize("kind", CHANNELS)
def test_sequences_have_no_channels(kind):
    text = f"layer {{ name: 'z' type: '{kind}' bottom: 'lstm' top: 'z' {CHANNELS[kind]} }}"
    with pytest.raises(UnsupportedError, match="'lstm' must have its channels along axis 1, got"):
        load(WORDS + text)


LSTM = "layer { name: 'l' type: 'LSTM' bottom: 'y' bottom: 'on' top: 'l' "
LSTM += "recurrent_param { num_output: 2 } }"
SEQUENCE = "layer { name: 'in' type: 'Input' top: 'x' top: 'on' top: 'w' } "
FACTORS = "layer { name: 'y' type: '%s' bottom: 'x' bottom: 'w' top: 'y' %s } "


@pytest.mark.parametrize("kind, of", [("Scale", np.multiply), ("Bias", np.add)])
def test_factors_of_each_sequence_or_of_each_step(kind, of, rng):
    """Caffe multiplies (T, N, F) by (N, F) from axis 1 on, or by (T, N) from axis 0 on."""
    x, row, step = rng.normal(size=(3, 5, 4)), rng.normal(size=(3, 4)), rng.normal(size=(3, 5))
    option = f"{kind.lower()}_param {{ axis: %d }}"
    text = SEQUENCE + FACTORS % (kind, option % 1) + LSTM
    y = values_of(load(text, x=(5, 4), on=(5,), w=(4,)), "y", x=x, w=row, on=step)
    np.testing.assert_allclose(y, of(x, row[:, None]))
    text = SEQUENCE + FACTORS % (kind, option % 0) + LSTM
    y = values_of(load(text, x=(5, 4), on=(5,), w=(5,)), "y", x=x, w=step, on=step)
    np.testing.assert_allclose(y, of(x, step[..., None]))


def test_factors_computed_of_a_parameter_on_an_inner_axis(rng):
    """For example (H, W) on images (N, C, H, W), from axis 2 on."""
    text = DATA + "layer { name: 'p' type: 'Parameter' top: 'p' "
    text += "parameter_param { shape { dim: 3 dim: 4 } } } "
    text += "layer { name: 'gate' type: 'Sigmoid' bottom: 'p' top: 'gate' } "
    text += "layer { name: 'y' type: 'Scale' bottom: 'x' bottom: 'gate' top: 'y' "
    text += "scale_param { axis: 2 } }"
    net, params = load(text, x=(2, 3, 4)), {"p/W": rng.normal(size=(3, 4))}
    x, name = rng.normal(size=(5, 2, 3, 4)), net.blobs["y"]
    y = forward(net.conf, params, {}, x, outputs=(name,)).activations[name]
    np.testing.assert_allclose(y, x / (1 + np.exp(-params["p/W"])))
