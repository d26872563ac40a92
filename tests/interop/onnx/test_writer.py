"""Networks written as ONNX files, against onnxruntime, and after they are read back."""

import numpy as np
import onnxruntime
import pytest
from google.protobuf.message import EncodeError

from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.interop.onnx import OnnxFunction, read_onnx, write_onnx, writer
from sparkdl.interop.onnx.writer import onnx_model
from sparkdl.nn import Adam, Dense, GraphBuilder, NetworkConf, Output, Sgd, zoo
from sparkdl.nn.layers import BatchNorm, Conv2D, Dropout, LossLayer, Merge, Stack
from sparkdl.training.network import Network
from sparkdl.training.transfer import replace_output

SMALL = {"tokens": 20, "steps": 6, "width": 8, "depth": 2, "heads": 2}
OPTIONS = {"bert": SMALL | {"classes": 3}, "gpt2": SMALL}
WORDS = {"char_lstm", "transformer", "bert", "gpt2"}  # their inputs are ids of a vocabulary
ZOO = {  # whether the file can be read back into a network
    "lenet": True,
    "cifar10_quick": True,
    "cifar10_full": True,
    "char_lstm": True,
    "transformer": True,
    "bert": True,
    "gpt2": True,
    "resnet18": True,
}


def answers(path, names, inputs):
    """Returns onnxruntime's outputs of a file."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(names, inputs)


def drawn(conf, count, words=False):
    rng = np.random.default_rng(0)
    shapes = {name: (count, *shape) for name, shape in conf.input_shapes.items()}
    if words:
        return {n: rng.integers(0, 20, shape).astype(np.float32) for n, shape in shapes.items()}
    return {n: rng.normal(size=shape).astype(np.float32) for n, shape in shapes.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ZOO)
def test_networks_of_the_zoo(name, tmp_path):
    conf, path = getattr(zoo, name)(**OPTIONS.get(name, {})), tmp_path / "net.onnx"
    network = Network(conf)
    write_onnx(network, path)
    inputs = drawn(conf, 2, name in WORDS)
    [x] = inputs.values()
    [theirs] = answers(path, None, inputs)
    np.testing.assert_allclose(theirs, network.predict(x), rtol=1e-5, atol=1e-6)
    [computed] = OnnxFunction(path).run(inputs).values()
    np.testing.assert_allclose(computed, theirs, rtol=1e-4, atol=1e-6)
    if ZOO[name]:
        [again] = read_onnx(path).run(x).values()
        np.testing.assert_allclose(again, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("padding_id", [None, 0])
def test_means_of_texts_are_read_again(padding_id, tmp_path):
    """Also of padded texts, one of which is all padding."""
    network = Network(zoo.bert(**SMALL, classes=3, pooling="mean", padding_id=padding_id))
    path, x = tmp_path / "net.onnx", drawn(network.conf, 3, words=True)["features"]
    x[0, 4:], x[1] = 0, 0
    write_onnx(network, path)
    [theirs] = answers(path, None, {"features": x})
    [again] = read_onnx(path).run(x).values()
    np.testing.assert_allclose(again, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lenet", "char_lstm"])
def test_a_softmax_that_is_read_again_becomes_the_one_of_a_loss(name, tmp_path):
    """The file ends in an Identity, or in a Reshape and an Identity."""
    network, path = Network(getattr(zoo, name)()), tmp_path / "net.onnx"
    write_onnx(network, path)
    x = 5 * drawn(network.conf, 2)["features"]
    new = replace_output(read_onnx(path).network, LossLayer())
    np.testing.assert_allclose(new.predict(x), network.predict(x), rtol=1e-4, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transformer", "bert", "gpt2"])
def test_what_is_read_again_trains_as_what_was_written(name, tmp_path):
    """Token tables, attention with masks, normalizations: all weights are updated alike."""
    small = {"width": 8, "depth": 2, "heads": 2, "steps": 6}
    words = {"symbols": 20} if name == "transformer" else {"tokens": 20}
    network, path = Network(getattr(zoo, name)(**small, **words)), tmp_path / "net.onnx"
    last = network.conf.stack[-1].sources[0]
    write_onnx(network, path, [last])
    sides = network, read_onnx(path).network
    x, head = drawn(network.conf, 8, words=True)["features"], LossLayer(loss="mse")
    both = [
        replace_output(side, head, layer, optimizer=Sgd(learning_rate=0.1))
        for side, layer in zip(sides, (last, None), strict=True)
    ]
    before = both[0].predict(x)
    y = np.random.default_rng(1).normal(size=before.shape).astype(np.float32)
    for side in both:
        side.fit((x, y), epochs=3)
    ours, theirs = (side.predict(x) for side in both)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    assert np.abs(ours - before).max() > 0.01


def graph():
    """Returns a conf with two inputs, two outputs and a layer that both outputs read."""
    build = GraphBuilder()
    build.inputs = {"image": (2, 4, 4), "row": (3,)}
    conv = build.add(Conv2D(name="conv", filters=3, kernel_size=2, activation="relu"), "image")
    norm = build.add(BatchNorm(name="norm"), conv)
    flat = build.add(Dense(name="flat", units=4), norm)
    both = build.add(Merge(name="both"), flat, "row")
    build.add(Output(name="kind", units=3), build.add(Dropout(rate=0.5), both))
    build.add(Output(name="size", units=1, loss="mse"), both)
    return build.conf(optimizer=Adam())


@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.parametrize("asked", [None, "norm", ["norm"], ["size", "flat"]], ids=str)
def test_any_layers_of_a_graph_for_any_batch(asked, count, tmp_path):
    network, path = Network(graph()), tmp_path / "net.onnx"
    write_onnx(network, path, asked)
    names = [asked] if asked == "norm" else asked or ["kind", "size"]
    inputs = drawn(network.conf, count)
    expected = network.features(inputs, names)
    for name, theirs in zip(names, answers(path, names, inputs), strict=True):
        np.testing.assert_allclose(theirs, expected[name], rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_a_trained_network_keeps_its_weights(tmp_path):
    conf = NetworkConf(input_shape=(3,), layers=[Dense(units=4), Output(units=2)])
    network, [x] = Network(conf), drawn(conf, 40).values()
    network.fit((x, (x[:, 0] > 0).astype(int)), 2)
    write_onnx(network, tmp_path / "net.onnx")
    [theirs] = answers(tmp_path / "net.onnx", None, {"features": x})
    np.testing.assert_allclose(theirs, network.predict(x), rtol=1e-5, atol=1e-6)


def test_the_file_says_who_made_it_and_for_which_batches():
    made = onnx_model(Network(graph()))
    assert made.producer_name == "sparkdl" and made.opset_import[0].version == 17
    for value in [*made.graph.input, *made.graph.output]:
        assert value.type.tensor_type.shape.dim[0].dim_param == "batch"


def test_what_has_no_form_is_named_and_nothing_is_written(tmp_path):
    build = GraphBuilder()
    build.inputs = {"a": (2,), "b": (2,)}
    build.add(Stack(name="both"), "a", "b")
    with pytest.raises(UnsupportedError, match=r"row for each example; \['both'\] have others"):
        write_onnx(Network(build.conf()), tmp_path / "net.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("error", [EncodeError("Failed to serialize proto"), ValueError("2 GB")])
def test_a_network_that_is_too_large_for_protobuf_is_refused(error, tmp_path, monkeypatch):
    """Protobuf ends at 2 GiB, and says so in two ways; a network of 2 GiB is no quick test."""

    def check(model, **options):
        raise error

    monkeypatch.setattr(writer.checker, "check_model", check)
    network = Network(NetworkConf(input_shape=(2,), layers=[Output(units=2)]))
    with pytest.raises(UnsupportedError, match="must be below 2 GB as an ONNX file"):
        write_onnx(network, tmp_path / "a.onnx")
    assert not list(tmp_path.iterdir())


def test_an_unknown_layer_is_named(tmp_path):
    with pytest.raises(ConfigError, match="nothing"):
        write_onnx(Network(graph()), tmp_path / "net.onnx", ["nothing"])
