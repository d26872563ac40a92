"""Caffe's blobs loaded into networks: Caffe's outputs, and the same bits when saved again."""

from functools import partial

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.errors import CheckpointError, UnsupportedError
from sparkdl.interop.caffe.checkpoints.blob_orders import arrays_of, blobs_of
from sparkdl.interop.caffe.checkpoints.transfer import load_weights, save_weights
from sparkdl.interop.caffe.checkpoints.weights import read_weights, write_weights
from sparkdl.interop.caffe.graphs.net import load_net
from sparkdl.interop.caffe.layers.python import register_python
from sparkdl.interop.caffe.messages.prototxt import parse_text
from sparkdl.interop.caffe.messages.schema import NetParameter
from sparkdl.interop.caffe.nets.phases import state_of
from sparkdl.nn import (
    LSTM,
    BatchNorm,
    Dense,
    EmbeddingSequence,
    GraphConf,
    GravesLSTM,
    Vertex,
)
from sparkdl.nn.execution.replica import Replica
from sparkdl.training.saving.state import TrainState
from tests.nn.networks.test_graph import batch_of

# Caffe's layers by hand: x and blobs in Caffe's layouts, for one example without the batch axis


def inner_product(x, w, b):
    return w @ x.reshape(-1) + b


def transposed_product(x, w):
    return x.reshape(-1) @ w


def convolution(x, w, b):
    """Convolves with 3 x 2 windows in two groups."""
    channels, rows, columns = x.shape
    y = np.zeros((len(w), rows - 2, columns - 1))
    for o, i, j in np.ndindex(y.shape):
        first = channels // 2 * (o * 2 // len(w))
        seen = x[first : first + channels // 2, i : i + 3, j : j + 2]
        y[o, i, j] = (w[o] * seen).sum() + b[o]
    return y


def deconvolution(x, w, b):
    """Adds a 2 x 2 window to y for each element of x, in two groups with stride 2."""
    channels, rows, columns = x.shape
    each = w.shape[1]
    y = np.zeros((2 * each, 2 * rows, 2 * columns))
    for c, i, j in np.ndindex(x.shape):
        first = each * (c * 2 // channels)
        y[first : first + each, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2] += w[c] * x[c, i, j]
    return y + b[:, None, None]


def batch_norm(x, mean, variance, factor, epsilon=1e-5):
    mean, variance = (v[:, None, None] / factor for v in (mean, variance))
    return (x - mean) / np.sqrt(variance + epsilon)


def scale(x, gamma, beta):
    return x * gamma[:, None, None] + beta[:, None, None]


def bias(x, beta):
    return x + beta[:, None, None]


def prelu(x, alpha):
    alpha = alpha[:, None, None] if alpha.ndim else alpha
    return np.where(x > 0, x, alpha * x)


IMAGE = (4, 5, 6)
PRODUCT = "type: 'InnerProduct' inner_product_param { num_output: 3 %s }"
FILTERS = "convolution_param { num_output: 6 group: 2 kernel_h: %d kernel_w: 2 stride: %d }"
# the layer's text, the shapes of Caffe's blobs, the computation
CASES = {
    "InnerProduct": (PRODUCT % "", [(3, 120), (3,)], inner_product),
    "InnerProduct, transposed": (
        PRODUCT % "bias_term: false transpose: true",
        [(120, 3)],
        transposed_product,
    ),
    "Convolution": (
        "type: 'Convolution'" + FILTERS % (3, 1),
        [(6, 2, 3, 2), (6,)],
        convolution,
    ),
    "Deconvolution": (
        "type: 'Deconvolution'" + FILTERS % (2, 2),
        [(4, 3, 2, 2), (6,)],
        deconvolution,
    ),
    "BatchNorm": ("type: 'BatchNorm'", [(4,), (4,), (1,)], batch_norm),
    "BatchNorm, as it is": (
        "type: 'BatchNorm' batch_norm_param { use_global_stats: true eps: 1e-3 }",
        [(4,), (4,), (1,)],
        partial(batch_norm, epsilon=1e-3),
    ),
    "Scale": ("type: 'Scale' scale_param { bias_term: true }", [(4,), (4,)], scale),
    "Bias": ("type: 'Bias'", [(4,)], bias),
    "PReLU": ("type: 'PReLU'", [(4,)], prelu),
    "PReLU, shared": ("type: 'PReLU' prelu_param { channel_shared: true }", [()], prelu),
}
INPUT = "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: [1, 4, 5, 6] } } }"


def net_of(text):
    layer = f"layer {{ name: 'one' bottom: 'x' top: 'y' {text} }}"
    return load_net(parse_text(INPUT + layer, NetParameter), state_of("TEST"))


def start(conf):
    replica = Replica(conf)
    return TrainState(params=replica.params, buffers=replica.buffers, slots=replica.slots)


def forward(conf, state, x, name="one"):
    replica = Replica(conf)
    replica.load(state.params, state.buffers, state.slots)
    return replica.forward(x.astype("f"), (name,))[name]


@pytest.mark.parametrize("name", CASES)
def test_a_layer_computes_what_caffe_does(name, rng, tmp_path):
    text, shapes, by_hand = CASES[name]
    blobs = [rng.uniform(0.5, 2, shape).astype("f") for shape in shapes]
    write_weights(tmp_path / "net", {"one": blobs})
    net = net_of(text)
    state, _ = load_weights(net.conf, start(net.conf), tmp_path / "net", net.layers)
    x = rng.normal(size=(2, *IMAGE))
    wanted = np.stack([by_hand(one, *blobs) for one in x])
    found = forward(net.conf, state, x)
    assert found.shape == wanted.shape
    assert np.allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("end", ["", ".h5"])
def test_they_come_back_as_they_were(name, end, rng, tmp_path):
    text, shapes, _ = CASES[name]
    net = net_of(text)
    before = start(net.conf)
    before = TrainState(
        params=rng.normal(size=before.params.size).astype("f"),
        buffers=rng.normal(size=before.buffers.size).astype("f"),
        slots=before.slots,
    )
    path = f"{tmp_path}/net{end}"
    save_weights(net.conf, before, path, net.layers)
    assert [blob.shape for blob in read_weights(path)["one"]] == shapes
    after, _ = load_weights(net.conf, start(net.conf), path, net.layers)
    assert after.params.tobytes() == before.params.tobytes()
    assert after.buffers.tobytes() == before.buffers.tobytes()


# Layers that become several of ours, or that Caffe does not have

NETS = {
    "Parameter": (
        "layer { name: 'one' type: 'Parameter' top: 'p' parameter_param { shape { dim: 4 } } }"
        "layer { name: 'two' type: 'Scale' bottom: 'x' bottom: 'p' top: 'y' "
        "scale_param { bias_term: true } }",
        {"one": [(4,)], "two": [(4,)]},
        lambda x, one, two: scale(x, *one, *two),
    ),
    "names that begin alike": (
        "layer { name: 'one' type: 'Scale' bottom: 'x' top: 'x' }"
        "layer { name: 'one/bias' type: 'Bias' bottom: 'x' top: 'y' }",
        {"one": [(4,)], "one/bias": [(4,)]},
        lambda x, one, two: scale(x, *one, *two),
    ),
    "a convolution of several blobs": (
        "layer { name: 'one' type: 'Convolution' bottom: 'x' bottom: 'x' top: 'a' top: 'b' "
        + FILTERS % (3, 1)
        + "} layer { name: 'sum' type: 'Eltwise' bottom: 'a' bottom: 'b' top: 'y' }",
        {"one": [(6, 2, 3, 2), (6,)]},
        lambda x, one: 2 * convolution(x, *one),
    ),
    "Python": (
        "layer { name: 'one' type: 'Python' bottom: 'x' top: 'y' "
        "python_param { module: 'ours' layer: 'Product' } }",
        {"one": [(120, 3), (3,)]},
        lambda x, one: transposed_product(x, one[0]) + one[1],
    ),
}


@pytest.mark.parametrize("name", NETS)
def test_a_net_computes_what_caffe_does(name, rng, tmp_path):
    text, shapes, by_hand = NETS[name]
    register_python("ours", "Product", lambda text: Dense(units=3, activation="identity"))
    net = load_net(parse_text(INPUT + text, NetParameter), state_of("TEST"))
    weights = {n: [rng.normal(size=s).astype("f") for s in shapes[n]] for n in shapes}
    write_weights(tmp_path / "net", weights)
    state, report = load_weights(net.conf, start(net.conf), tmp_path / "net", net.layers)
    assert not (report.unchanged or report.unused)
    x = rng.normal(size=(2, *IMAGE))
    wanted = [by_hand(one, *weights.values()) for one in x]
    assert np.allclose(forward(net.conf, state, x, net.blobs["y"]), wanted, rtol=1e-4, atol=1e-4)
    save_weights(net.conf, state, tmp_path / "again", net.layers)
    again = read_weights(tmp_path / "again")
    assert again.keys() == weights.keys()
    assert all(np.array_equal(x, y) for n in again for x, y in zip(again[n], weights[n]))


# Layers of sequences


def lstm(x, w, b, wh):
    """Computes Caffe's LSTM, with the gates in the order i, f, o, g."""
    h = c = np.zeros(wh.shape[1])
    ys = []
    for step in x:
        i, f, o, g = np.split(w @ step + b + wh @ h, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        ys.append(h)
    return np.stack(ys)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def embed(x, w, b):
    return w[x.astype(int)] + b


def one(layer, shape):
    return GraphConf(inputs={"x": shape}, vertices=[Vertex(name="one", layer=layer, inputs="x")])


SEQUENCES = {
    "LSTM": (LSTM(units=3), (5, 2), [(12, 2), (12,), (12, 3)], lstm),
    "Embed": (
        EmbeddingSequence(vocabulary_size=7, units=3, bias=True, activation="identity"),
        (5,),
        [(7, 3), (3,)],
        embed,
    ),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_a_layer_of_sequences_computes_what_caffe_does(name, rng, tmp_path):
    layer, shape, shapes, by_hand = SEQUENCES[name]
    conf = one(layer, shape)
    blobs = [rng.normal(size=shape).astype("f") for shape in shapes]
    write_weights(tmp_path / "net", {"one": blobs})
    state, _ = load_weights(conf, start(conf), tmp_path / "net")
    x = rng.normal(size=(2, *shape)) if name == "LSTM" else rng.integers(0, 7, (2, *shape))
    assert np.allclose(forward(conf, state, x), [by_hand(one, *blobs) for one in x], atol=1e-5)
    save_weights(conf, state, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "net").read_bytes()


def rnn(x, w, b, wh, wo, bo):
    """Computes Caffe's RNN, whose outputs are an inner product of the states."""
    h, ys = np.zeros(len(b)), []
    for step in x:
        h = np.tanh(w @ step + b + wh @ h)
        ys.append(np.tanh(wo @ h + bo))
    return np.stack(ys)


def with_static(recurrence):
    """Returns a recurrence with a static input at each step, whose weights are the third blob."""

    def computed(x, static, w, b, ws, *rest):
        both = np.concatenate([x, np.repeat(static[None], len(x), 0)], 1)
        return recurrence(both, np.concatenate([w, ws], 1), b, *rest)

    return computed


STEPS = "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: [5, 1, 2] } } }"
CONT = "layer { name: 'cont' type: 'Input' top: 'cont' input_param { shape { dim: [5, 1] } } }"
STATIC = "layer { name: 's' type: 'Input' top: 's' input_param { shape { dim: [1, 4] } } }"
UNITS = "recurrent_param { num_output: 3 weight_filler { type: 'uniform' } }"
# more bottoms of Caffe's layer, the shapes of its blobs, the computation
RECURRENT = {
    "LSTM": ("", [(12, 2), (12,), (12, 3)], lstm),
    "LSTM, static": ("bottom: 's'", [(12, 2), (12,), (12, 4), (12, 3)], with_static(lstm)),
    "RNN": ("", [(3, 2), (3,), (3, 3), (3, 3), (3,)], rnn),
    "RNN, static": ("bottom: 's'", [(3, 2), (3,), (3, 4), (3, 3), (3, 3), (3,)], with_static(rnn)),
}


@pytest.mark.parametrize("name", RECURRENT)
def test_a_recurrent_layer_computes_what_caffe_does(name, rng, tmp_path):
    static, shapes, by_hand = RECURRENT[name]
    kind = name.partition(",")[0]
    bottoms = f"bottom: 'x' bottom: 'cont' {static}"
    layer = f"layer {{ name: 'a/one' type: '{kind}' {bottoms} top: 'y' {UNITS} }}"
    text = STEPS + CONT + (STATIC if static else "") + layer
    given = {"x": (5, 2), "cont": (5,)}
    net = load_net(parse_text(text, NetParameter), state_of("TEST"), shapes=given)
    blobs = [rng.normal(size=shape).astype("f") for shape in shapes]
    write_weights(tmp_path / "net", {"a/one": blobs})
    state, report = load_weights(net.conf, start(net.conf), tmp_path / "net", net.layers)
    assert not report.unchanged
    columns = {"x": rng.normal(size=(2, 5, 2)), "cont": np.ones((2, 5))}
    columns |= {"s": rng.normal(size=(2, 4))} if static else {}
    batch = Batch(columns={n: c.astype("f") for n, c in columns.items()}, ids=np.arange(2))
    replica = Replica(net.conf)
    replica.load(state.params, state.buffers, state.slots)
    found = replica.forward(batch, (net.blobs["y"],))[net.blobs["y"]]
    inputs = [columns["x"]] + ([columns["s"]] if static else [])
    assert np.allclose(found, [by_hand(*one, *blobs) for one in zip(*inputs)], atol=1e-5)
    save_weights(net.conf, state, tmp_path / "again", net.layers)
    assert all(map(np.array_equal, read_weights(tmp_path / "again")["a/one"], blobs))
    blobs[2] = blobs[2][:, 1:]
    write_weights(tmp_path / "net", {"a/one": blobs})
    with pytest.raises(CheckpointError, match="a/one.: blobs must be of"):
        load_weights(net.conf, state, tmp_path / "net", net.layers)


# Errors, and statistics of BatchNorm


OURS = BatchNorm(scale=False, shift=False)
BLOBS = [[np.float32([2, 4]), np.float32([6, 8]), np.float32([4])], [np.zeros(2), np.zeros(2), [0]]]


@pytest.mark.parametrize(
    "blobs, wanted", [(BLOBS[0], ([0.5, 1], [1.5, 2])), (BLOBS[1], ([0, 0], [0, 0]))]
)
def test_a_batch_norm_of_ours_has_what_the_factor_leaves(blobs, wanted):
    blobs = [np.asarray(blob, np.float32) for blob in blobs]
    arrays = dict.fromkeys(("mean", "variance"), np.ones(2, "f"))
    found = arrays_of(OURS, blobs, arrays)
    assert (found["mean"].tolist(), found["variance"].tolist()) == wanted
    again = blobs_of(OURS, found)
    assert [blob.tolist() for blob in again] == [*wanted, [1]]


TRAINED = """
layer { name: 'x' type: 'Input' top: 'x' top: 'label'
        input_param { shape { dim: [1, 4, 5, 6] } shape { dim: [1, 4, 5, 6] } } }
layer { name: 'one' type: 'BatchNorm' bottom: 'x' top: 'y'
        batch_norm_param { moving_average_fraction: 0.75 } }
layer { name: 'loss' type: 'EuclideanLoss' bottom: 'y' bottom: 'label' }
"""


def test_a_batch_norm_goes_on_with_caffes_numbers(rng, tmp_path):
    """Caffe's sums after a batch are a fraction of the old ones plus the batch's."""
    net = load_net(parse_text(TRAINED, NetParameter), state_of("TRAIN"))
    mean, variance, factor = (rng.uniform(1, 2, n).astype("f") for n in (4, 4, 1))
    write_weights(tmp_path / "net", {"one": [mean, variance, factor]})
    state, _ = load_weights(net.conf, start(net.conf), tmp_path / "net", net.layers)
    replica, batch = Replica(net.conf), batch_of(net.conf, rng, 3)
    replica.load(state.params, state.buffers, state.slots)
    replica.step(batch, 0.1, 1)
    state = TrainState(params=replica.params, buffers=replica.buffers, slots=replica.slots)
    save_weights(net.conf, state, tmp_path / "net", net.layers)
    x = batch.columns["features"].transpose(1, 0, 2, 3).reshape(4, -1)
    wanted = [mean * 0.75 + x.mean(1), variance * 0.75 + x.var(1, ddof=1), factor * 0.75 + 1]
    for found, right in zip(read_weights(tmp_path / "net")["one"], wanted, strict=True):
        assert np.allclose(found, right, rtol=1e-5)


@pytest.mark.parametrize(
    "shapes", [[(2, 3)], [(2, 3), (2,), (2,)], [(3, 2), (2,)], [(2, 3), (3,)], [(6,), (2,)]]
)
def test_blobs_of_other_shapes_are_refused(shapes):
    arrays = {"W": np.ones((3, 2)), "b": np.ones(2)}
    with pytest.raises(CheckpointError, match=r"blobs must be of \[\(2, 3\), \(2,\)\], got"):
        arrays_of(Dense(units=2), [np.ones(shape) for shape in shapes], arrays)


def test_axes_of_one_in_front_do_not_count():
    arrays = {"W": np.ones((3, 2)), "b": np.ones(2)}
    blobs = [np.ones((1, 1, 2, 3)), np.ones((1, 1, 1, 2))]
    found = arrays_of(Dense(units=2), blobs, arrays)
    assert {name: array.shape for name, array in found.items()} == {"W": (3, 2), "b": (2,)}


@pytest.mark.parametrize("layer, names", [(BatchNorm(), "gamma"), (GravesLSTM(units=2), "P")])
def test_what_caffe_does_not_have_is_refused(layer, names):
    arrays = {name: np.ones(2) for name in ("mean", "variance", names)}
    with pytest.raises(UnsupportedError, match=f"no blobs for a {type(layer).__name__}.*{names}"):
        blobs_of(layer, arrays)
