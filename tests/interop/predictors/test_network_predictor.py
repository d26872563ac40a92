"""Networks as predictors: the outputs of `Network.features`, under the requested names."""

import numpy as np
import pytest

from sparkdl.data.transforms import Scale
from sparkdl.errors import ConfigError, DataError
from sparkdl.interop.onnx import read_onnx
from sparkdl.interop.predictors import ArraySpec, NetworkPredictor
from sparkdl.nn import LSTM, NetworkConf, RnnOutput
from sparkdl.training.network import Network
from tests.interop.onnx.models import model, node, saved
from tests.spark.networks import data, plain


def test_specs_are_those_of_the_network():
    predictor = NetworkPredictor(Network(plain()))
    assert predictor.inputs == {"features": ArraySpec("float32", (6,))}
    assert predictor.outputs == {"output_1": ArraySpec("float32", (3,))}


def test_outputs_are_the_layers_that_are_named():
    network, x = Network(plain()), data(7)[0]
    predictor = NetworkPredictor(network, {"hidden": "dense_1", "p": "output_1"}, input="x")
    found = predictor.load(["hidden", "p"])({"x": x})
    assert list(found) == ["hidden", "p"]
    np.testing.assert_array_equal(found["p"], network.predict(x))
    np.testing.assert_array_equal(found["hidden"], network.features(x, "dense_1")["dense_1"])


@pytest.mark.slow
def test_two_predictors_of_one_configuration_keep_their_weights():
    networks, x = [Network(plain()), Network(plain())], data(3)[0]
    networks[1].fit(data(30), epochs=1)
    runs = [NetworkPredictor(network).load(["output_1"]) for network in networks]
    for network, run in zip(networks, runs, strict=True):
        np.testing.assert_array_equal(run({"features": x})["output_1"], network.predict(x))


def test_what_a_fit_did_to_rows_is_done_to_these():
    network, x = Network(plain()), data(5)[0]
    network.transform = Scale(factor=0.5)
    found = NetworkPredictor(network).load(["output_1"])({"features": x})["output_1"]
    np.testing.assert_allclose(found, network.predict(x / 2), rtol=1e-6)


def test_sequences_may_be_shorter_than_the_network():
    """Unless the network was read from a file, which takes no shorter sequences."""
    layers = [LSTM(units=4), RnnOutput(units=2)]
    network = Network(NetworkConf(input_shape=(5, 3), layers=layers, seed=1))
    predictor = NetworkPredictor(network)
    assert predictor.inputs == {"features": ArraySpec("float32", (None, 3))}
    predictor = NetworkPredictor(network, pads=False)
    assert predictor.inputs == {"features": ArraySpec("float32", (5, 3))}


def test_a_record_that_does_not_fit_is_an_error_of_data():
    """It names the input, and the row if there are several."""
    rows = np.zeros((3, 6), np.float32)
    rows[1, 2] = np.nan
    cases = [("x", rows, "^row 1: x must be finite"), (None, rows[1:2], "^features must be finite")]
    for name, given, says in cases:
        predictor = NetworkPredictor(Network(plain()), input=name)
        with pytest.raises(DataError, match=says):
            predictor.load(["output_1"])({name or "features": given})


def test_layers_must_be_those_of_the_network():
    with pytest.raises(ConfigError, match=r"layers must be some of \['dense.*got conv"):
        NetworkPredictor(Network(plain()), {"y": "conv"})


def test_a_network_without_output_layer_needs_names(tmp_path):
    net = read_onnx(saved(model([node("Relu", "x")], [3]), tmp_path))
    with pytest.raises(ConfigError, match=r"NetworkPredictor\.layers must name layers"):
        NetworkPredictor(net.network)
