"""Weights are loaded into layers of the same names, with a report on each layer."""

import cv2
import numpy as np
import pytest
from google.protobuf import text_format

from sparkdl.errors import CheckpointError
from sparkdl.interop.caffe.checkpoints.transfer import (
    LoadReport,
    load_weights,
    save_weights,
)
from sparkdl.interop.caffe.checkpoints.weights import read_weights, write_weights
from sparkdl.interop.caffe.graphs.net import load_net
from sparkdl.interop.caffe.messages.prototxt import parse_text, text_of
from sparkdl.interop.caffe.messages.schema import NetParameter
from sparkdl.interop.caffe.nets.phases import state_of
from sparkdl.nn import Dense, NetworkConf, Output, Sgd
from sparkdl.nn.execution.replica import Replica
from sparkdl.training.saving.state import TrainState
from tests.interop.caffe.checkpoints.test_blob_orders import forward, start
from tests.interop.caffe.nets import SHAPES, path
from tests.nn.networks.test_graph import batch_of

CONF = NetworkConf(
    input_shape=(3,),
    layers=[Dense(units=2, name="one"), Dense(units=4, name="two"), Output(units=2, name="out")],
)


def zeros(*shapes):
    return [np.zeros(shape, "f") for shape in shapes]


FILE = {"one": zeros((2, 3), 2), "out": zeros((5, 4), 5), "other": zeros(1)}


def arrays(state):
    return CONF.params_layout.views(state.params)


@pytest.mark.slow
def test_a_report_says_what_became_of_each(tmp_path):
    write_weights(tmp_path / "net", FILE)
    before = start(CONF)
    state, report = load_weights(CONF, before, tmp_path / "net", fit=False)
    misfit = "blobs must be of [(2, 4), (2,)], got [(5, 4), (5,)]"
    assert report == LoadReport(
        path=f"{tmp_path}/net",
        loaded=("one",),
        unchanged=("two",),
        unused=("other",),
        misfits={"out": misfit},
    )
    assert str(report).splitlines() == [
        f"weights of {tmp_path}/net",
        "  loaded: one",
        "  left as they were: two",
        "  not used: other",
        f"  out left as it was: {misfit}",
    ]
    old, new = arrays(before), arrays(state)
    changed = [name for name in old if (old[name] != new[name]).any()]
    assert changed == ["one/W"] and not new["one/W"].any()


def test_a_misfit_is_an_error_unless_told_otherwise(tmp_path):
    write_weights(tmp_path / "net", FILE)
    before = start(CONF)
    with pytest.raises(CheckpointError, match=r"net, layer 'out': blobs must be of \[\(2, 4\)"):
        load_weights(CONF, before, tmp_path / "net")
    assert before.params.tobytes() == start(CONF).params.tobytes()


def test_a_file_of_other_names_is_refused(tmp_path):
    write_weights(tmp_path / "net", {"conv1": zeros(1)})
    with pytest.raises(CheckpointError, match="no layer has .* conv1; one, two, out; name the"):
        load_weights(CONF, start(CONF), tmp_path / "net")


def test_weights_in_double_precision_are_taken(tmp_path):
    write_weights(tmp_path / "net", {"one": [np.full((2, 3), 0.1), np.zeros(2)]})
    state, _ = load_weights(CONF, start(CONF), tmp_path / "net")
    assert (arrays(state)["one/W"] == np.float32(0.1)).all()


# Shared parameters

SHARED = """
layer { name: 'a' type: 'Input' top: 'a' input_param { shape { dim: [1, 3] } } }
layer { name: 'b' type: 'Input' top: 'b' input_param { shape { dim: [1, 3] } } }
layer { name: 'one' type: 'InnerProduct' bottom: 'a' top: 'y'
        param { name: 'w' } param { name: 'b' }
        inner_product_param { num_output: 2 } }
layer { name: 'two' type: 'InnerProduct' bottom: 'b' top: 'z'
        param { name: 'w' } param { name: 'b' }
        inner_product_param { num_output: 2 } }
layer { name: 'sum' type: 'Eltwise' bottom: 'y' bottom: 'z' top: 'sum' }
"""


def test_shared_weights_are_written_for_all_and_read_from_any(tmp_path):
    net = load_net(parse_text(SHARED, NetParameter), state_of("TEST"))
    before = start(net.conf)
    assert len(before.params) == 8
    save_weights(net.conf, before, tmp_path / "net", net.layers)
    found = read_weights(tmp_path / "net")
    assert list(found) == ["one", "two"]
    assert found["one"][0].tobytes() == found["two"][0].tobytes()
    write_weights(tmp_path / "other", {"two": zeros((2, 3), 2)})
    state, report = load_weights(net.conf, before, tmp_path / "other", net.layers)
    assert not state.params.any()
    assert (report.loaded, report.unchanged) == (("two",), ())


# From prototxt to prototxt


@pytest.mark.slow
@pytest.mark.parametrize("end", ["", ".h5"])
def test_a_trained_net_comes_back_to_the_bit(end, tmp_path, rng):
    data = {"shapes": {"data": SHAPES["lenet"]}}
    conf = load_net(
        path("lenet"), state_of("TRAIN"), optimizer=Sgd(learning_rate=0.01), **data
    ).conf
    replica, batch = Replica(conf), batch_of(conf, rng, 4)
    for t in range(1, 4):
        replica.step(batch, 0.01, t)
    trained = TrainState(params=replica.params, buffers=replica.buffers, slots=replica.slots)
    save_weights(conf, trained, f"{tmp_path}/net{end}")
    test = load_net(path("lenet"), state_of("TEST"), **data).conf
    state, report = load_weights(test, start(test), f"{tmp_path}/net{end}")
    assert not (report.unchanged or report.unused)
    x = rng.normal(size=(4, *SHAPES["lenet"]))
    wanted, found = forward(conf, trained, x, "ip2"), forward(test, state, x, "ip2")
    assert wanted.tobytes() == found.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("name, output", [("lenet", "ip2"), ("cifar10_quick", "ip2")])
def test_another_reader_computes_the_same(name, output, tmp_path, rng):
    net = load_net(path(name), state_of("TEST"), shapes={"data": SHAPES[name]})
    state = start(net.conf)
    save_weights(net.conf, state, tmp_path / "net", net.layers, net.name)
    reader = cv2.dnn.readNetFromCaffe(
        np.frombuffer(deployed(name).encode(), np.uint8), np.fromfile(tmp_path / "net", np.uint8)
    )
    x = rng.normal(size=(1, *SHAPES[name])).astype("f")
    reader.setInput(x)
    wanted = reader.forward(output)
    assert wanted.any()
    assert np.allclose(forward(net.conf, state, x, output), wanted, atol=1e-4)


def deployed(name):
    """Returns a net's deploy text: with an input instead of data, losses and accuracies."""
    net = parse_text(text_of(path(name)), NetParameter)
    kept = [one for one in net.layer if one.type not in ("Data", "Accuracy", "SoftmaxWithLoss")]
    del net.layer[:]
    data = net.layer.add(name="data", type="Input", top=["data"])
    data.input_param.shape.add(dim=[1, *SHAPES[name]])
    net.layer.extend(kept)
    return text_format.MessageToString(net)
