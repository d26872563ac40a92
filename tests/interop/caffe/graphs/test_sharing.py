"""Layers that share parameters by name compute and train by Caffe's formulas."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.interop.caffe.checkpoints.history import history_of, slots_of
from sparkdl.interop.caffe.checkpoints.transfer import load_weights, save_weights
from sparkdl.interop.caffe.checkpoints.weights import read_weights
from sparkdl.interop.caffe.graphs.net import load_net
from sparkdl.interop.caffe.messages.prototxt import parse_text
from sparkdl.interop.caffe.messages.schema import NetParameter
from sparkdl.interop.caffe.nets.phases import state_of
from sparkdl.nn import Momentum, Sgd
from sparkdl.nn.execution.replica import Replica
from tests.interop.caffe.checkpoints.test_blob_orders import start

N, RATE, DECAY = 6, 0.125, 0.5
INPUT = "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: [6, %s] } } }\n"
LOSS = "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'b' bottom: 'x' top: 'loss' }\n"


def load(text, shape="4", phase="TRAIN", **options):
    message = parse_text(INPUT % shape + text, NetParameter)
    return load_net(message, state_of(phase), **options).conf


def two(options, first="", second="", kinds=("InnerProduct", "InnerProduct")):
    """Returns the text of layers a and b, where b reads a; `first` and `second` are their own."""
    rows = zip("ab", "xa", kinds, (first, second), strict=True)
    return "".join(
        f"layer {{ name: '{name}' type: '{kind}' bottom: '{bottom}' top: '{name}' {more} "
        f"{options} }}\n"
        for name, bottom, kind, more in rows
    )


def step(conf, rng, shape=(4,)):
    """Returns the parameters before and after an update, and the data."""
    replica, x = Replica(conf), rng.normal(size=(N, *shape)).astype(np.float32)
    batch = Batch(columns=dict.fromkeys(conf.feature_columns, x), ids=np.arange(N))
    before = {name: np.float64(view) for name, view in replica.arrays()[0].items()}
    replica.step(batch, RATE, 1)
    return before, replica.arrays()[0], np.float64(x)


PLAIN = "inner_product_param { num_output: 4 bias_term: false weight_filler { type: 'xavier' } }"
# (options of the parameter in each layer): Caffe's factors of rate and decay
FACTORS = {
    ("", ""): (1, 1),
    ("", "lr_mult: 0"): (0, 1),
    ("", "lr_mult: 2"): (2, 1),
    ("lr_mult: 0", ""): (0, 1),
    ("lr_mult: 3", "lr_mult: 3"): (3, 1),
    ("lr_mult: 1", "decay_mult: 0"): (1, 0),
    ("decay_mult: 2", "lr_mult: 0.5"): (0.5, 2),
}


@pytest.mark.parametrize("first, second", FACTORS)
def test_rates_and_decay_are_those_of_the_first_layer_that_gives_them(first, second, rng):
    text = two(PLAIN, f"param {{ name: 'w' {first} }}", f"param {{ name: 'w' {second} }}") + LOSS
    before, after, x = step(load(text, optimizer=Sgd(learning_rate=RATE), l2=DECAY), rng)
    assert list(before) == ["a/W"]
    w, (rate, decay) = before["a/W"].T, FACTORS[first, second]  # Caffe's layout (out, in)
    a = x @ w.T
    error = (a @ w.T - x) / N
    gradient = error.T @ a + (error @ w).T @ x + decay * DECAY * w
    np.testing.assert_allclose(after["a/W"].T, w - rate * RATE * gradient, rtol=1e-4, atol=1e-6)


def test_factors_of_biases_too():
    names = "param {{ name: 'w' {} }} param {{ name: 'b' {} }}"
    options = "inner_product_param { num_output: 4 }"
    text = two(options, names.format("", ""), names.format("lr_mult: 3", "lr_mult: 2"))
    layer = load(text).vertices[0].layer
    assert (layer.rate_factor, layer.bias_rate_factor) == (3, 2)


@pytest.mark.parametrize("factor", ["lr_mult", "decay_mult"])
def test_factors_that_differ_are_refused(factor):
    text = two(PLAIN, f"param {{ name: 'w' {factor}: 1 }}", f"param {{ name: 'w' {factor}: 0 }}")
    message = f"layer 'b' .*param.{factor} of 'w' must be 1, .* got 0; give it once"
    with pytest.raises(ConfigError, match=message):
        load(text)


FILL = "weight_filler { type: 'xavier' } bias_filler { type: 'uniform' min: -1 max: 1 }"
NAME = "param { name: 'w' lr_mult: 2 } "
BOTH = NAME + "param { lr_mult: 3 } "


def units(count, transpose=False, bias_term=True):
    """Returns the options of an InnerProduct."""
    flags = f"transpose: {transpose} bias_term: {bias_term}".lower()
    return f"inner_product_param {{ num_output: {count} {flags} {FILL} }}"


def other_way(first, second, has_bias):
    """Returns the text of two InnerProducts with one matrix, of which a may be not square.

    `first` and `second` say whether each has `transpose`. The layers have biases of their own.
    """
    a = BOTH + units(4 if first == second else 3, first, has_bias)
    return two("", a, BOTH + units(4, second, has_bias)) + LOSS


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_one_matrix_in_both_directions_or_with_biases_apart(first, second, has_bias, rng):
    """A decoder with the encoder's weights transposes them; Caffe shares the blob of numbers."""
    text = other_way(first, second, has_bias)
    before, after, x = step(load(text, optimizer=Sgd(learning_rate=RATE)), rng)
    offsets = ["a/bias/beta", "b/bias/beta"] if has_bias else []
    assert sorted(before) == ["a/W", *offsets]
    w = before["a/W"]
    v = w if first == second else w.T
    c, d = (before.get(name, 0) for name in ("a/bias/beta", "b/bias/beta"))
    a = x @ w + c
    error = (a @ v + d - x) / N
    back = error @ v.T
    second_gradient = a.T @ error
    gradient = x.T @ back + (second_gradient if first == second else second_gradient.T)
    np.testing.assert_allclose(after["a/W"], w - 2 * RATE * gradient, rtol=1e-4, atol=1e-6)
    for name, steps in zip(offsets, (back, error), strict=False):
        wanted = before[name] - 3 * RATE * steps.sum(0)
        np.testing.assert_allclose(after[name], wanted, rtol=1e-4, atol=1e-6)


def test_a_shared_bias_is_shared_in_both_directions():
    names = "param { name: 'w' } param { name: 'b' } "
    text = two("", *(names + units(4, flag) for flag in (False, True)))
    first, second = load(text).vertices
    assert (first.layer.type_name, second.layer.type_name) == ("Dense", "DenseTranspose")
    assert (first.shares, second.shares, second.layer.bias) == (None, "a", True)


def test_a_file_of_tied_weights_has_the_blobs_of_each_layer(tmp_path, rng):
    message = parse_text(INPUT % "4" + other_way(False, True, True), NetParameter)
    net = load_net(message, state_of("TRAIN"), optimizer=Momentum(learning_rate=RATE))
    state = replace(start(net.conf), params=rng.normal(size=net.conf.parameter_count).astype("f"))
    save_weights(net.conf, state, tmp_path / "w", net.layers)
    views, blobs = net.conf.params_layout.views(state.params), read_weights(tmp_path / "w")
    np.testing.assert_array_equal(blobs["a"][0], views["a/W"].T)
    np.testing.assert_array_equal(blobs["b"][0], views["a/W"].T)
    np.testing.assert_array_equal(blobs["b"][1], views["b/bias/beta"])
    again, report = load_weights(net.conf, start(net.conf), tmp_path / "w", net.layers)
    np.testing.assert_array_equal(again.params, state.params)
    assert report.loaded == ("a", "b")


def test_a_history_has_shared_weights_once_and_each_bias(rng):
    message = parse_text(INPUT % "4" + other_way(False, True, True), NetParameter)
    net = load_net(message, state_of("TRAIN"), optimizer=Momentum(learning_rate=RATE))
    before = start(net.conf)
    state = replace(before, slots=rng.normal(size=before.slots.shape).astype("f"))
    history = history_of(net.conf, state, net.layers)
    assert [blob.shape for blob in history] == [(3, 4), (3,), (4,)]
    again = slots_of(net.conf, before, history, "s", net.layers)
    np.testing.assert_array_equal(again, state.slots)


SCALE = "scale_param { bias_term: true }"
INNER = "inner_product_param { num_output: 4 }"
TIED = "inner_product_param { num_output: %s bias_term: false %s }"
MOMENTS = "param { name: 'm' lr_mult: 0 } param { name: 'v' lr_mult: 0 }"
REFUSED = {
    "one name twice": (
        two(SCALE, "param { name: 'g' } param { name: 'g' }", kinds=("Scale", "ReLU")),
        "must be different for each parameter of a layer, got 'g' 2 times",
    ),
    "other places": (
        two(
            SCALE,
            "param { name: 'g' } param { name: 'b' }",
            "param { name: 'b' } param { name: 'g' }",
            ("Scale", "Scale"),
        ),
        "'b' must be at place 1 as in a, which shares it, got place 0",
    ),
    "weights as biases": (
        two(INNER, "param { name: 'w' } param { name: 'b' }", "param { } param { name: 'w' }"),
        "all parameters of a layer must be shared with one other, got .'w'.; name all of them or",
    ),
    "moments without their factor": (
        two("", f"{MOMENTS} param {{ lr_mult: 0 }}", MOMENTS, ("BatchNorm", "BatchNorm")),
        "must be shared with one other, got .'m', 'v'.; name all of them or none",
    ),
    "Scale and Bias": (
        two("", "param { name: 'w' }", "param { name: 'w' }", ("Scale", "Bias")),
        "'w' must be shared with a layer that reads its blob in the same order, got a, as of an",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_shared_here_is_refused(name):
    text, message = REFUSED[name]
    with pytest.raises(UnsupportedError, match=message):
        load(text)


@pytest.mark.parametrize("flag", [False, True])
def test_weights_of_other_shapes_are_refused(flag):
    """Caffe refuses them too, unless share_mode is PERMISSIVE."""
    text = two("", *(NAME + units(count, flag, False) for count in (5, 3)))
    with pytest.raises(ConfigError, match="b cannot share .* of a, it needs"):
        load(text.replace("name: 'w'", "name: 'w' share_mode: PERMISSIVE"))


def test_a_table_and_a_product_share_their_numbers():
    """Caffe's InnerProduct has W (out, in), its Embed (in, out), even if W is square."""
    embed = "embed_param { input_dim: 4 num_output: 4 bias_term: false }"
    more = "param { name: 'w' } "
    text = two("", more + embed, more + TIED % (4, ""), ("Embed", "InnerProduct"))
    last = load(text, "1").vertices[-1]
    assert (last.shares, last.layer.type_name) == ("a", "DenseTranspose")
    text = two("", more + embed, more + TIED % (4, "transpose: true"), ("Embed", "InnerProduct"))
    last = load(text, "1").vertices[-1]
    assert (last.shares, last.layer.type_name) == ("a", "Dense")
    biased = embed.replace("false", "true")
    text = two("", more + biased, more + TIED % (4, ""), ("Embed", "InnerProduct"))
    with pytest.raises(UnsupportedError, match="bias_term must be false where another layer"):
        load(text, "1")
    text = two("", more + TIED % (4, ""), more + embed, ("InnerProduct", "Embed"))
    with pytest.raises(UnsupportedError, match="reads its blob in the same order, got a"):
        load(text, "1")


def test_batch_norms_share_their_moments_one_behind_the_other(rng):
    """In Caffe, each layer adds its batch to the shared sums."""
    names = " ".join(f"param {{ name: '{name}' lr_mult: 0 }}" for name in "mvf")
    text = two("", names, names, ("BatchNorm", "BatchNorm")) + LOSS
    conf = load(text, "3, 2, 2")
    replica, x = Replica(conf), rng.normal(2, size=(N, 3, 2, 2)).astype(np.float32)
    columns = dict.fromkeys(conf.feature_columns, x)
    replica.step(Batch(columns=columns, ids=np.arange(N)), RATE, 1)
    buffers = replica.arrays()[1]
    assert {name.split("/")[0] for name in buffers} == {"a"}
    mean = x.mean((0, 2, 3))
    factor = 1 + 0.999
    np.testing.assert_allclose(buffers["a/weight"], factor, rtol=1e-5)
    np.testing.assert_allclose(buffers["a/mean"], 0.999 * mean, rtol=1e-4)  # b's inputs have mean 0


# Layers that become several of ours


def recurrent(first, second):
    options = "recurrent_param { num_output: 3 weight_filler { type: 'xavier' } }"
    return f"""
    layer {{ name: 'in' type: 'Input' top: 's' top: 'cont'
            input_param {{ shape {{ dim: [4, 6, 3] }} shape {{ dim: [4, 6] }} }} }}
    layer {{ name: 'p' type: 'RNN' bottom: 's' bottom: 'cont' top: 'p' {first} {options} }}
    layer {{ name: 'q' type: 'RNN' bottom: 'p' bottom: 'cont' top: 'q' {second} {options} }}
    """


def test_the_outputs_of_an_rnn_are_shared_too():
    names = " ".join(f"param {{ name: '{name}' }}" for name in "abcde")
    shares = {one.name: one.shares for one in load(recurrent(names, names)).vertices}
    assert shares["q"] == "p" and shares["q/output"] == "p/output"
    assert shares["p"] is shares["p/output"] is None
    inner = " ".join(f"param {{ name: '{name}' }}" for name in "abc")
    shares = {one.name: one.shares for one in load(recurrent(inner, inner)).vertices}
    assert shares["q"] == "p" and shares["q/output"] is None


def test_the_rates_of_an_rnn_s_outputs():
    """Its parameters are W_xh, b_h, W_hh, W_ho and b_o."""
    text = " ".join(f"param {{ lr_mult: {rate} }}" for rate in (2, 3, 2, 4, 5))
    layers = {one.name: one.layer for one in load(recurrent(text, "")).vertices}
    assert (layers["p"].rate_factor, layers["p"].bias_rate_factor) == (2, 3)
    assert (layers["p/output"].rate_factor, layers["p/output"].bias_rate_factor) == (4, 5)


def test_a_convolution_of_two_blobs_shares_with_another():
    options = "convolution_param { num_output: 3 kernel_size: 1 }"
    names = "param { name: 'w' } param { name: 'b' }"
    text = f"""
    layer {{ name: 'c' type: 'Convolution' bottom: 'x' top: 'y' {names} {options} }}
    layer {{ name: 'd' type: 'Convolution' bottom: 'x' bottom: 'y' top: 'u' top: 'v'
            {names} {options} }}
    """
    shares = {one.name: one.shares for one in load(text, "3, 2, 2").vertices}
    assert shares == {"c": None, "d": "c", "d/v": "c"}


def test_an_offset_behind_the_factors_of_a_parameter_is_shared():
    def scale(name, bottom):
        return f"""layer {{ name: '{name}' type: 'Scale' bottom: '{bottom}' bottom: 'f'
            top: '{name}' param {{ name: 'b' }} scale_param {{ bias_term: true }} }}"""

    text = "layer { name: 'f' type: 'Parameter' top: 'f' parameter_param { shape { dim: 4 } } }"
    vertices = load(text + scale("p", "x") + scale("q", "p")).vertices
    shares = {one.name: one.shares for one in vertices}
    assert shares["p/bias"] is None and shares["q/bias"] == "p/bias"
