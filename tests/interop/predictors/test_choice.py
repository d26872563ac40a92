"""Which predictor is chosen for a user's model."""

import json
import logging

import numpy as np
import pytest
from onnx import TensorProto, helper, save
from onnxruntime import InferenceSession

from sparkdl.errors import ConfigError, DataError, UnsupportedError
from sparkdl.interop.onnx import OnnxFunctionPredictor, read_onnx, write_onnx
from sparkdl.interop.predictors import ArraySpec, NetworkPredictor, choose_predictor
from sparkdl.spark.inference.row_groups import as_input
from sparkdl.training.network import Network
from tests.interop.onnx.models import drawn, expected, model, node, saved
from tests.spark.networks import data, plain


class Holder:
    def __init__(self, network):
        self.network = network


@pytest.mark.parametrize("kind", ["network", "its owner", "predictor", "folder", "onnx"])
def test_models_of_ours_give_what_the_network_predicts(kind, tmp_path):
    network, x = Network(plain()), data(5)[0]
    network.save(tmp_path / "model")
    write_onnx(network, str(tmp_path / "net.onnx"))
    given = {
        "network": network,
        "its owner": Holder(network),
        "predictor": NetworkPredictor(network),
        "folder": tmp_path / "model",
        "onnx": read_onnx(str(tmp_path / "net.onnx")),
    }[kind]
    predictor = choose_predictor(given)
    [name], [output] = predictor.inputs, predictor.outputs
    found = predictor.load([output])({name: x})[output]
    np.testing.assert_allclose(found, network.predict(x), rtol=1e-6)


def test_the_engine_computes_an_onnx_file_under_its_names(tmp_path):
    made = model([node("Relu", "x")], [3])
    predictor = choose_predictor(saved(made, tmp_path))
    assert isinstance(predictor, NetworkPredictor)
    assert [*predictor.inputs, *predictor.outputs] == ["x", "y"]
    x = drawn(0, 4, 3)
    np.testing.assert_array_equal(predictor.load(["y"])({"x": x})["y"], expected(made, x))


def test_a_file_of_several_inputs_is_computed_under_their_names(tmp_path):
    values = {
        name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 2]) for name in "aby"
    }
    graph = helper.make_graph([node("Sub", "b", "a")], "net", [values["a"], values["b"]], [])
    graph.output.append(values["y"])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    predictor = choose_predictor(saved(made, tmp_path))
    assert isinstance(predictor, NetworkPredictor)
    assert predictor.inputs == dict.fromkeys("ab", ArraySpec("float32", (2,)))
    arrays = {"a": drawn(0, 4, 2), "b": drawn(1, 4, 2)}
    expected = InferenceSession(made.SerializeToString()).run(["y"], arrays)[0]
    np.testing.assert_array_equal(predictor.load(["y"])(arrays)["y"], expected)


STEPS = {"name": "x", "batch_shape": [None, 3, 2], "dtype": "float32"}
KERAS = {
    "class_name": "Sequential",
    "config": {"layers": [{"class_name": "InputLayer", "config": STEPS}]},
    "keras_version": "3.8.0",
}


@pytest.mark.parametrize("kind", ["onnx", "what is read of it", "keras"])
@pytest.mark.parametrize("row", [[[1, 2], [3, 4]], [1, 2, 3, 4]], ids=["steps", "flat"])
def test_files_of_fixed_lengths_take_no_shorter_rows(kind, row, tmp_path):
    """Like onnxruntime and Keras; a network of ours would pad them."""
    path = saved(model([node("Relu", "x")], [3, 2]), tmp_path)
    (tmp_path / "net.json").write_text(json.dumps(KERAS))
    given = {"onnx": path, "what is read of it": read_onnx(path), "keras": tmp_path / "net.json"}
    [(name, spec)] = choose_predictor(given[kind]).inputs.items()
    assert spec == ArraySpec("float32", (3, 2))
    with pytest.raises(DataError, match=r"must have the shape \(3, 2\), got \([24]"):
        as_input(np.array([row], np.float32), name, spec)
    whole = as_input(np.arange(6.0).reshape(1, 6), name, spec)
    np.testing.assert_array_equal(whole, np.arange(6).reshape(1, 3, 2))


def whole_numbers(op, folder):
    """Returns the path of an ONNX file with one operation on integers."""
    x = helper.make_tensor_value_info("x", TensorProto.INT64, ["n", 3])
    y = helper.make_tensor_value_info("y", TensorProto.INT64, ["n", 3])
    graph = helper.make_graph([op], "net", [x], [y])
    imports = [helper.make_opsetid("", 17)]
    save(helper.make_model(graph, opset_imports=imports, ir_version=8), folder / "net.onnx")
    return folder / "net.onnx"


def test_what_is_no_network_is_computed_as_it_is_and_the_log_says_so(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        predictor = choose_predictor(whole_numbers(node("Neg", "x"), tmp_path))
    assert isinstance(predictor, OnnxFunctionPredictor)
    assert "an OnnxFunction computes" in caplog.text and "of integers" in caplog.text


def test_what_nobody_here_computes_is_refused_with_who_may(tmp_path):
    op = node("RandomNormalLike", "x", dtype=TensorProto.INT64)
    with pytest.raises(UnsupportedError, match=r"RandomNormalLike.*\nOnnxPredictor\(path\) asks"):
        choose_predictor(whole_numbers(op, tmp_path))


@pytest.mark.parametrize("given", [7, None, object(), {"network": 3}])
def test_what_is_no_model_is_refused(given):
    with pytest.raises(ConfigError, match="model must be a Network"):
        choose_predictor(given)


def test_a_damaged_file_is_an_error(tmp_path):
    (tmp_path / "net.onnx").write_bytes(b"no model")
    with pytest.raises(DataError, match=r"net\.onnx"):
        choose_predictor(tmp_path / "net.onnx")
