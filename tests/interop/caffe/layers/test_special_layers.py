"""Special layers: inputs and outputs of nets, Python layers, factors, masks, ArgMax and shapes."""

import cv2
import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.interop.caffe.graphs.net import load_net
from sparkdl.interop.caffe.layers.python import REGISTERED, register_python
from sparkdl.interop.caffe.messages.prototxt import parse_text
from sparkdl.interop.caffe.messages.schema import NetParameter
from sparkdl.interop.caffe.nets.phases import state_of
from sparkdl.nn import Activation, BatchNorm, forward
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.execution.scoring import example_losses

X = np.random.default_rng(5).normal(size=(4, 3)).astype(np.float32)
ROWS = "layer { name: 'rows' bottom: 'x' top: 'rows' type: 'Flatten' } "
DATA = "layer { name: 'in' type: 'Input' top: 'x' } "
IP = "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'ip' "
IP += "inner_product_param { num_output: 2 } } "


def load(text, phase="TRAIN", **shapes):
    return load_net(parse_text(text, NetParameter), state_of(phase), shapes)


def loss_of(net, inputs, labels, rng):
    params = {n: rng.normal(size=shape) for n, shape in net.conf.params_layout.entries}
    result = forward(net.conf, params, {}, inputs, training=True)
    return params, example_losses(net.conf, result, labels).mean()


def test_a_deploy_net_has_inputs_beside_its_layers_and_no_loss():
    text = "input: 'x' input_shape { dim: 10 dim: 3 } " + IP
    text += "layer { name: 'prob' type: 'Softmax' bottom: 'ip' top: 'prob' }"
    conf = load(text, "TEST").conf
    found = Replica(conf).forward(X, outputs=("prob",))["prob"]
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-6)


def test_learned_factors_of_a_parameter_and_an_offset_behind(rng):
    text = (
        DATA + "layer { name: 'p' type: 'Parameter' top: 'p' parameter_param { shape { dim: 3 } } }"
    )
    text += "layer { name: 'y' type: 'Scale' bottom: 'x' bottom: 'p' top: 'y' "
    text += "scale_param { bias_term: true } }"
    net = load(text, x=(3, 2))
    assert net.conf.parameter_count == 6
    params = {"p/W": rng.normal(size=3), "y/bias/beta": rng.normal(size=3)}
    x = rng.normal(size=(4, 3, 2))
    name = net.blobs["y"]
    y = forward(net.conf, params, {}, x, outputs=(name,)).activations[name]
    np.testing.assert_allclose(y, x * params["p/W"][:, None] + params["y/bias/beta"][:, None])


def test_factors_of_data_have_the_batch_too():
    text = DATA.replace("top: 'x'", "top: 'x' top: 'w'")
    text += "layer { name: 'y' type: 'Scale' bottom: 'x' bottom: 'w' top: 'y' }"
    with pytest.raises(UnsupportedError, match="axis must be 0 where the second bottom is data"):
        load(text, x=(3,), w=(3,))


def test_a_python_layer_is_what_was_registered():
    text = DATA + "layer { name: 'y' type: 'Python' bottom: 'x' top: 'y' "
    text += "python_param { module: 'mine' layer: 'Warp' param_str: 'tanh' } }"
    with pytest.raises(
        ConfigError, match=r"got mine.Warp; register_python\('mine', 'Warp', make\)"
    ):
        load(text, x=(3,))
    register_python("mine", "Warp", lambda text: Activation(text))
    try:
        (vertex,) = load(text, x=(3,)).conf.vertices
    finally:
        del REGISTERED["mine", "Warp"]
    assert vertex.name == "y" and vertex.layer.function.type_name == "tanh"


def test_blobs_that_are_written():
    text = DATA.replace("top: 'x'", "top: 'x' top: 'label'") + IP
    text += (
        "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }"
    )
    text += "layer { name: 'out' type: 'HDF5Output' bottom: 'ip' bottom: 'label' "
    text += "hdf5_output_param { file_name: 'out.h5' } }"
    (written,) = load(text, x=(3,)).written
    assert written.file == "out.h5" and written.columns == {"ip": "ip", "label": "labels"}


def test_silence_reads_nothing():
    text = DATA.replace("top: 'x'", "top: 'x' top: 'id'") + IP
    text += "layer { name: 'quiet' type: 'Silence' bottom: 'id' bottom: 'ip' }"
    assert load(text, x=(3,)).conf.input_shapes == {"x": (3,)}


def test_losses_count_the_examples_that_were_chosen(rng):
    text = DATA.replace("top: 'x'", "top: 'x' top: 'label' top: 'which'") + IP
    text += "layer { name: 'f' type: 'Filter' bottom: 'ip' bottom: 'label' bottom: 'which' "
    text += "top: 'some' top: 'theirs' } "
    text += "layer { name: 'relu' type: 'ReLU' bottom: 'some' top: 'some' }"
    text += (
        "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'some' bottom: 'theirs' top: 'l' }"
    )
    net = load(text, x=(3,), label=(1,), which=(1,))
    labels, which = np.array([[0.0], [1], [1], [0]]), np.array([[0.0], [2], [0], [1]])
    params, loss = loss_of(net, {"x": X, "label": labels, "which": which}, {}, rng)
    z = np.maximum(X @ params["ip/W"] + params["ip/b"], 0)[[1, 3]]
    logs = z - np.log(np.exp(z).sum(1, keepdims=True))
    assert loss == pytest.approx(-(logs[0, 1] + logs[1, 0]) / 2, rel=1e-6)


@pytest.mark.parametrize("kind", ["SUM", "MEAN"])
def test_a_reduction_of_the_batch_as_a_loss(kind, rng):
    text = DATA + IP + "layer { name: 'r' type: 'Reduction' bottom: 'ip' top: 'r' loss_weight: 0.5 "
    text += f"reduction_param {{ operation: {kind} }} }}"
    net = load(text, x=(3,))
    params, loss = loss_of(net, {"x": X}, {}, rng)
    ip = X @ params["ip/W"] + params["ip/b"]
    assert loss == pytest.approx(0.5 * (ip.sum() if kind == "SUM" else ip.mean()), rel=1e-6)
    assert [(score.blob, score.weight) for score in net.scores] == [("r", 0.5)]


def test_the_probabilities_beside_a_loss_are_a_blob():
    text = DATA.replace("top: 'x'", "top: 'x' top: 'label'") + IP
    text += "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' "
    text += "top: 'prob' } layer { name: 'twice' type: 'Power' bottom: 'prob' top: 'twice' "
    text += "power_param { scale: 2 } }"
    conf = load(text, x=(3,)).conf
    twice = Replica(conf).forward(X, outputs=("twice",))["twice"]
    np.testing.assert_allclose(twice.sum(axis=1), 2, rtol=1e-6)


SEQUENCES = """
layer { name: 'in' type: 'Input' top: 'words' top: 'on'
        input_param { shape { dim: 7 dim: 16 } shape { dim: 7 dim: 16 } } }
layer { name: 'e' type: 'Embed' bottom: 'words' top: 'e'
        embed_param { input_dim: 9 num_output: 4 } }
layer { name: 'y' type: 'LSTM' bottom: 'e' bottom: 'on' top: 'y' %s
        recurrent_param { num_output: 5 weight_filler { type: 'xavier' } %s } }
"""


def test_blobs_that_reach_an_lstm_have_their_steps_in_front():
    conf = load(SEQUENCES % ("", "")).conf
    assert conf.input_shapes == {"words": (7,), "on": (7,)}
    assert conf.stack[-1].out_shape == (7, 5)


WORDS = """
layer { name: 'in' type: 'Input' top: 'words' input_param { shape { %s } } }
layer { name: 'e' type: 'Embed' bottom: 'words' top: 'e'
        embed_param { input_dim: 9 num_output: 4 } }
layer { name: 'y' type: 'Softmax' bottom: 'e' top: 'y' softmax_param { axis: %d } }
"""


@pytest.mark.parametrize("dims, axis", [("dim: 6", 1), ("dim: 6 dim: 1", 2), ("dim: [6, 2, 3]", 3)])
def test_an_embed_adds_an_axis_behind_those_of_its_bottom(dims, axis, rng):
    net = load(WORDS % (dims, axis))
    shape = net.conf.input_shapes["words"]
    x = rng.integers(0, 9, (6, *shape)).astype("f")
    found = Replica(net.conf).forward(x, outputs=(net.blobs["y"],))[net.blobs["y"]]
    assert found.shape == ((6, 4) if axis == 1 else (6, *shape, 4))
    np.testing.assert_allclose(found.sum(-1), 1, rtol=1e-5)


RECURRENT = {
    ("", "expose_hidden: true"): "expose_hidden must be false",
    ("param { } param { } param { lr_mult: 2 }", ""): "must have the same lr_mult and decay_mult",
}


@pytest.mark.parametrize("options", RECURRENT)
def test_recurrent_layers_that_are_not_supported(options):
    with pytest.raises(UnsupportedError, match=RECURRENT[options]):
        load(SEQUENCES % options)


RESHAPED = {
    "'Reshape' reshape_param { shape { dim: -1 dim: 2 dim: 3 } }": (2, 3),
    "'Reshape' reshape_param { shape { dim: 4 dim: 6 } }": (6,),
    "'Flatten'": (6,),
}
REFUSED = {
    "'Reshape' reshape_param { shape { dim: 0 dim: 5 } }": "Reshape to",
    "'Reshape' reshape_param { shape { dim: 2 dim: -1 } }": "must leave the batch as it is",
    "'Flatten' flatten_param { axis: 0 }": "axis must be an axis of",
    "'Tile' tile_param { tiles: 0 }": "tiles must be at least 1, got 0",
    "'Slice' slice_param { slice_point: 1 }": "1 tops cannot be cut from",
    "'Concat' concat_param { axis: 0 }": "axis must be an axis of",
    "'Pooling'": "must have kernel_size",
    "'Pooling' pooling_param { kernel_size: 1 stride: 2 }": (
        r"inside images of \(4, 4\), got one of size 1 and stride 2 at 4, .*; round_mode: FLOOR"
    ),
    "'Pooling' pooling_param { pool: AVE kernel_size: 1 stride_h: 1 stride_w: 5 }": (
        "got one of size 1 and stride 5 at 5, "
    ),
    "'Pooling' pooling_param { kernel_size: 2 stride: 0 }": "Pooling.stride must be at least 1",
    "'Pooling' top: 'mask' pooling_param { kernel_size: 2 pool: AVE }": "Pooling.top must be 1 ",
    "'Convolution' convolution_param { num_output: 2 }": "kernel_size must be one number or 2",
    "'Eltwise' eltwise_param { operation: MAX coeff: 1 }": "coeff must be given with SUM",
    "'InnerProduct' inner_product_param { num_output: 2 axis: 0 }": "axis must be an axis of .*mix",
    "'Softmax' softmax_param { axis: 0 }": "axis must be an axis of .*got 0, which mixes",
    "'Flatten' flatten_param { axis: 0 end_axis: 1 }": "axis must be an axis of .*which mixes",
    "'Tile' tile_param { axis: 0 tiles: 2 }": "axis must be an axis of .*which mixes",
    "'Slice' slice_param { axis: 0 }": "axis must be an axis of .*which mixes",
    "'Reshape' reshape_param { shape { dim: 2 } axis: 0 num_axes: 0 }": "leave the batch as it is",
    "'Reshape' reshape_param { shape { dim: 1 dim: 1 } axis: 0 num_axes: 0 }": "leave the batch as",
    "'Reshape' reshape_param { shape { dim: 2 dim: 5 dim: 48 } }": "must leave the batch as it is",
    "'Reshape' reshape_param { shape { dim: 0 dim: 0 dim: 0 dim: 0 dim: 0 } }": "dim of 0 must",
    "'Crop' bottom: 'rows'": "Crop must have two bottoms of as many axes",
    "'Reshape' reshape_param { axis: 3 num_axes: 2 }": "axis and num_axes must end within",
}


@pytest.mark.parametrize("text", RESHAPED)
def test_shapes(text):
    conf = load(DATA + f"layer {{ name: 'y' bottom: 'x' top: 'y' type: {text} }}", x=(3, 2)).conf
    assert conf.stack[-1].out_shape == RESHAPED[text]


@pytest.mark.parametrize("text", REFUSED)
def test_shapes_and_options_that_cannot_be(text):
    with pytest.raises((ConfigError, ValueError, UnsupportedError), match=REFUSED[text]):
        load(DATA + ROWS + f"layer {{ name: 'y' bottom: 'x' top: 'y' type: {text} }}", x=(3, 4, 4))


BY_THE_BATCH = (
    DATA + "layer { name: 'y' bottom: 'x' top: 'y' type: 'BatchNorm' "
    "batch_norm_param { use_global_stats: false } "
)


def test_statistics_of_a_test_batch_are_refused_where_a_test_would_use_them():
    with pytest.raises(UnsupportedError, match="'y' .*use_global_stats must not be false"):
        load(BY_THE_BATCH + "}", "TEST", x=(3,))
    (vertex,) = load(BY_THE_BATCH + "}", x=(3,)).conf.vertices
    assert isinstance(vertex.layer, BatchNorm)
    alone = BY_THE_BATCH.replace("'y'", "'b'", 1) + "include { phase: TRAIN } } "
    alone += "layer { name: 'y' bottom: 'x' top: 'y' type: 'BatchNorm' include { phase: TEST } }"
    assert [one.name for one in load(alone, "TEST", x=(3,)).conf.vertices] == ["y"]


def test_lr_mult_0_leaves_parameters_as_they_are(rng):
    text = DATA.replace("top: 'x'", "top: 'x' top: 'label'")
    text += IP.replace("inner_product_param", "param { lr_mult: 0 } inner_product_param")
    text += (
        "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }"
    )
    replica = Replica(load(text, x=(3,)).conf)
    before = {name: view.copy() for name, view in replica.arrays()[0].items()}
    columns = {"features": X, "labels": np.zeros(4, np.int32)}
    replica.step(Batch(columns=columns, ids=np.arange(4, dtype=np.uint64)), 0.1, 1)
    after = replica.arrays()[0]
    assert (after["ip/W"] == before["ip/W"]).all() and (after["ip/b"] != before["ip/b"]).any()


MASK = """
input: 'x' input_shape { dim: 2 dim: 3 dim: 7 dim: 9 }
layer { name: 'y' type: 'Pooling' bottom: 'x' top: 'y' top: 'mask'
        pooling_param { kernel_size: 3 stride: 2 } }
"""


def test_the_mask_of_equal_numbers_is_opencv_s(rng, tmp_path):
    x = rng.integers(0, 3, (2, 3, 7, 9)).astype(np.float32)
    (tmp_path / "net").write_text(MASK)
    theirs = cv2.dnn.readNetFromCaffe(str(tmp_path / "net"))
    theirs.setInput(x)
    [(pooled, mask)] = theirs.forwardAndRetrieve(["y"])
    net = load(MASK)
    names = [net.blobs[name] for name in ("y", "mask")]
    ours = Replica(net.conf).forward(x, outputs=names)
    np.testing.assert_array_equal(ours[names[0]], pooled)
    np.testing.assert_array_equal(ours[names[1]], mask)


def test_of_equal_numbers_the_last_is_the_largest():
    """Caffe sorts (value, index) pairs in descending order."""
    text = (
        DATA + "layer { name: 'best' type: 'ArgMax' bottom: 'x' top: 'best' argmax_param { %s } } "
    )
    text += "layer { name: 'twice' type: 'Power' bottom: 'best' top: 'twice' "
    text += "power_param { scale: 2 } }"
    x = np.array([[1, 3, 3, 0], [2, 2, 2, 2]], np.float32)
    net = load(text % "top_k: 2", x=(4,))
    found = Replica(net.conf).forward(x, outputs=("best", "twice"))
    np.testing.assert_array_equal(found["best"], [[[2, 1]], [[3, 2]]])
    np.testing.assert_array_equal(found["twice"], [[[4, 2]], [[6, 4]]])
    net = load(text % "top_k: 3 axis: 1", x=(4,))
    found = Replica(net.conf).forward(x, outputs=("best",))["best"]
    np.testing.assert_array_equal(found, [[2, 1, 0], [3, 2, 1]])


def test_the_largest_are_written():
    text = DATA + IP + "layer { name: 'best' type: 'ArgMax' bottom: 'ip' top: 'best' } "
    text += "layer { name: 'out' type: 'HDF5Output' bottom: 'best' bottom: 'ip' "
    text += "hdf5_output_param { file_name: 'out.h5' } }"
    net = load(text, "TEST", x=(3,))
    assert net.written[0].columns == {"best": "best", "ip": "ip"} and net.scores == ()


GAIN = np.array([[1, 0.5, 0], [0, 2, 0.25], [0.5, 0, 1]])
INFOGAIN = """
layer { name: 'in' type: 'Input' top: 'x' top: 'label' top: 'gain' }
layer { name: 'z' type: 'Power' bottom: 'x' top: 'z' }
layer { name: 'l' type: 'InfogainLoss' bottom: 'z' bottom: 'label' bottom: 'gain' top: 'l'
        top: 'prob' %s }
layer { name: 'a' type: 'Accuracy' bottom: 'z' bottom: 'label' top: 'a' }
"""


@pytest.mark.parametrize("places", [(), (2,)])
@pytest.mark.parametrize("ignored", [None, 1])
def test_infogain_by_a_blob(places, ignored, rng):
    shapes = {"x": (3, *places, *places), "label": (1, *places, *places), "gain": (1, 3, 3)}
    text = "" if ignored is None else f"loss_param {{ ignore_label: {ignored} }}"
    net = load(INFOGAIN % text, **shapes)
    x, labels = rng.normal(size=(4, *shapes["x"])), rng.integers(0, 3, (4, *shapes["label"]))
    result = forward(
        net.conf,
        {},
        {},
        {"x": x, "label": labels.astype(float), "gain": np.tile(GAIN, (4, 1, 1, 1))},
        training=True,
        outputs=("l/prob",),
    )
    prob = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    each = -(np.moveaxis(GAIN[labels[:, 0]], -1, 1) * np.log(prob)).sum(1)
    there = labels[:, 0] != ignored
    loss = example_losses(net.conf, result, {}).mean()
    assert loss == pytest.approx((each * there).sum() / there.sum())
    np.testing.assert_allclose(result.activations[net.blobs["prob"]], prob)


def test_infogain_by_a_parameter_does_not_learn_it(rng):
    text = INFOGAIN.replace(" top: 'gain' }", " }").replace("bottom: 'gain'", "bottom: 'p'")
    text = text.replace(
        "layer { name: 'z'",
        "layer { name: 'p' type: 'Parameter' top: 'p' "
        "parameter_param { shape { dim: 3 dim: 3 } } } layer { name: 'z'",
    )
    replica = Replica(load(text % "", x=(3,), label=(1,)).conf)
    replica.arrays()[0]["p/W"][...] = GAIN
    columns = {"x": X, "label": np.array([[0.0], [1], [2], [0]], np.float32)}
    loss, _ = replica.gradient(Batch(columns=columns, ids=np.arange(4, dtype=np.uint64)))
    logs = X - np.log(np.exp(X).sum(1, keepdims=True))
    assert loss == pytest.approx(-(GAIN[[0, 1, 2, 0]] * logs).sum(), rel=1e-5)
    assert not replica.grad.any()
