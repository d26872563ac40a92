"""Every layer and activation written as ONNX: onnxruntime's numbers, or an error that says why."""

import numpy as np
import onnx
import onnxruntime
import pytest

from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx import read_onnx, write_onnx
from sparkdl.interop.onnx.writer import onnx_model
from sparkdl.nn import GraphBuilder
from sparkdl.nn.layers import Activation, MaxPool2D, MaxPool3D
from sparkdl.training.network import Network
from tests.nn.examples import ACTIVATIONS
from tests.nn.layer_cases import LAYERS
from tests.support.tables import first_of_each, kind_of_layer

WITHOUT_ROWS = {"BatchReindex", "Stack", "Unstack"}  # their outputs have no row per example
INDEXED = {"Embedding", "EmbeddingSequence"}
REFUSED = {  # type of layer: why some of its options cannot be written
    "AvgPool2D": "AvgPool of layer avgpool2d_1: dilation is not supported",
    "GRU": "Gru of layer gru_1: a mask is not supported",
    "GravesLSTM": "Lstm of layer graveslstm_1: a mask is not supported",
    "LSTM": "Lstm of layer lstm_1: a mask is not supported",
    "MaxPoolIndex2D": "MaxPoolPick of layer maxpoolindex2d_1: MaxPoolPick has no decomposition",
    "UpSampling2D": "Resize of layer upsampling2d_1: resizing but by whole factors to nearest",
}
UNREAD = {  # type of layer: why its file is not read back into a network
    "ArgMax": "a choice between numbers and others than one is not supported",
    "Learned": "an output that no node computes",
    "LearnedSelfAttention": "(MatMul)",  # of queries that are the same for each example
}


def rows():
    for row in LAYERS:
        layer, shapes = row[0], row[1] if row[0].multi_input else (row[1],)
        if layer.type_name not in WITHOUT_ROWS and () not in shapes:
            yield layer, shapes
    for activation in ACTIVATIONS:
        yield Activation(activation), ((5,),)


ROWS = list(rows())


def conf_of(layer, shapes):
    build = GraphBuilder()
    build.inputs = {f"x{place}": shape for place, shape in enumerate(shapes)}
    build.add(layer, *build.inputs)
    return build.conf()


def drawn(layer, shapes, count):
    rng = np.random.default_rng(3)
    arrays = [rng.normal(size=(count, *shape)).astype(np.float32) for shape in shapes]
    if layer.type_name in INDEXED:
        arrays = [np.floor(abs(3 * x)) % layer.vocabulary_size for x in arrays]
    return {f"x{place}": array for place, array in enumerate(arrays)}


@pytest.mark.parametrize(
    "row",
    first_of_each(range(len(ROWS)), lambda row: kind_of_layer(ROWS[row])),
    ids=lambda row: f"{row}-{ROWS[row][0].type_name}",
)
def test_each_layer_has_the_numbers_of_onnxruntime(row, tmp_path):
    layer, shapes = ROWS[row]
    network = Network(conf_of(layer, shapes))
    [name] = [place.name for place in network.conf.stack]
    try:
        made = onnx_model(network)
    except UnsupportedError as error:
        assert REFUSED[layer.type_name] in str(error)
        return
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    again = read_again(made, layer, tmp_path / "net.onnx")
    for count in (1, 3):
        inputs = drawn(layer, shapes, count)
        [theirs] = session.run(None, inputs)
        given = inputs if len(inputs) > 1 else inputs["x0"]
        ours = network.features(given, [name])[name]
        np.testing.assert_allclose(theirs, ours, rtol=1e-4, atol=1e-5)
        if again:
            [same] = again.run(given).values()
            np.testing.assert_allclose(same, theirs, rtol=1e-4, atol=1e-5)


def read_again(made, layer, path):
    """Returns the OnnxNet of a file; None if it is refused as the table says."""
    onnx.save(made, path)
    try:
        return read_onnx(path)
    except UnsupportedError as error:
        assert UNREAD[layer.type_name] in str(error)


def test_few_rows_are_refused():
    refused = 0
    for layer, shapes in ROWS:
        if layer.type_name in REFUSED:
            try:
                onnx_model(Network(conf_of(layer, shapes)))
            except UnsupportedError:
                refused += 1
    assert refused == 7 and len(ROWS) > 270


WIDE = {  # padding as wide as the window without its dilation, which onnxruntime refuses
    "images": (MaxPool2D(size=2, stride=1, padding=(2, 0), dilation=2), (3, 4, 5)),
    "volumes": (MaxPool3D(size=3, padding="same", dilation=3), (1, 4, 4, 4)),
}


@pytest.mark.parametrize("name", WIDE)
def test_pooling_with_wide_padding_has_the_numbers_of_onnxruntime(name, tmp_path):
    layer, shape = WIDE[name]
    network = Network(conf_of(layer, [shape]))
    write_onnx(network, tmp_path / "net.onnx")
    made = (tmp_path / "net.onnx").read_bytes()
    x = -1 - np.random.default_rng(3).random((3, *shape), np.float32)
    [place] = [place.name for place in network.conf.stack]
    [theirs] = onnxruntime.InferenceSession(made, providers=["CPUExecutionProvider"]).run(
        None, {"x0": x}
    )
    np.testing.assert_allclose(theirs, network.features(x, [place])[place], rtol=1e-5)
    [again] = read_onnx(tmp_path / "net.onnx").run(x).values()
    np.testing.assert_allclose(again, theirs, rtol=1e-6)
