"""Nets in Caffe's format become graphs with the published numbers of parameters, which train."""

from dataclasses import replace
from pathlib import Path

import h5py
import lmdb
import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.data.readers.lmdb_files.writer import write_lmdb
from sparkdl.errors import ConfigError, DataError, ShapeError, UnsupportedError
from sparkdl.interop.caffe.checkpoints.transfer import load_weights, save_weights
from sparkdl.interop.caffe.checkpoints.weights import read_weights, write_weights
from sparkdl.interop.caffe.graphs.net import load_net, read_net
from sparkdl.interop.caffe.messages.prototxt import parse_text
from sparkdl.interop.caffe.messages.schema import LayerParameter, NetParameter
from sparkdl.interop.caffe.nets.phases import state_of
from sparkdl.nn import Nesterov, zoo
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.networks.document import conf_from_dict
from sparkdl.training.network import first_state
from tests.interop.caffe.nets import SHAPES, path
from tests.nn.networks.test_graph import batch_of

PHASES = ["TRAIN", "TEST"]


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("phase", PHASES)
def test_has_as_many_parameters_as_the_zoo_s(name, phase):
    conf = read_net(path(name), phase, shapes={"data": SHAPES[name]})
    assert conf.parameter_count == getattr(zoo, name)().parameter_count
    assert conf_from_dict(conf.to_dict()) == conf


@pytest.mark.parametrize("name", ["lenet", "cifar10_quick", "cifar10_full"])
def test_trains_a_step(name, rng):
    conf = read_net(
        path(name), shapes={"data": SHAPES[name]}, optimizer=Nesterov(learning_rate=0.01), l2=5e-4
    )
    replica, batch = Replica(conf), batch_of(conf, rng, 8)
    before = replica.params.copy()
    losses = [replica.step(batch, 0.01, t) / 8 for t in range(1, 6)]
    assert losses[0] == pytest.approx(np.log(10), rel=0.1)
    assert losses[-1] < losses[0] and np.isfinite(losses).all()
    assert (replica.params != before).any()


def load(text, phase="TRAIN", **options):
    return load_net(parse_text(text, NetParameter), state_of(phase), **options)


DATA = """
layer { name: 'data' type: 'Data' top: 'data' top: 'label' data_param { batch_size: 32 } }
"""
NET = (
    DATA
    + """
layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip'
        inner_product_param { num_output: 3 } }
layer { name: 'top1' type: 'Accuracy' bottom: 'ip' bottom: 'label' top: 'top1' }
layer { name: 'top2' type: 'Accuracy' bottom: 'ip' bottom: 'label' top: 'top2' top: 'each'
        accuracy_param { top_k: 2 ignore_label: 255 } }
layer { name: 'best' type: 'ArgMax' bottom: 'ip' top: 'best' argmax_param { out_max_val: true } }
layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss'
        loss_weight: 0.5 }
"""
)


def test_what_is_computed_of_test_data():
    net = load(NET, "TEST", shapes={"data": (4,)})
    found = [(s.blob, s.kind, s.source, s.labels, s.top_k) for s in net.scores]
    assert found == [
        ("top1", "accuracy", "ip", "labels", 1),
        ("top2", "accuracy", "ip", "labels", 2),
        ("each", "class_accuracy", "ip", "labels", 2),
        ("best", "argmax", "ip", None, 1),
        ("loss", "loss", "loss", "labels", 1),
    ]
    assert [s.ignore_label for s in net.scores] == [None, 255, 255, None, None]
    assert net.scores[-1].weight == 0.5 and net.scores[3].values
    assert net.conf.outputs[0].layer.loss_weight == 0.5
    assert net.blobs == {"data": "data", "ip": "ip"}


def test_what_the_data_are():
    (data,) = load_net(path("alexnet"), state_of("TRAIN"), {"data": (3, 227, 227)}).data
    assert (data.name, data.type, data.batch_size) == ("data", "Data", 256)
    assert data.source == "ilsvrc12_train_lmdb"
    assert data.columns == {"data": "features", "label": "labels"}
    assert data.shapes == {"data": (3, 227, 227)}
    assert data.transform.mirror and data.transform.crop_size == 227


def test_several_blobs_of_labels_are_columns_of_their_names():
    text = (
        NET
        + """
    layer { name: 'more' type: 'Input' top: 'values' }
    layer { name: 'far' type: 'EuclideanLoss' bottom: 'ip' bottom: 'values' top: 'far' }
    """
    )
    conf = load(text, shapes={"data": (4,)}).conf
    assert list(conf.label_columns) == ["label", "values"]
    assert conf.feature_columns == {"features": "data"}


def test_a_layer_in_place_changes_what_follows_it():
    text = NET.replace(
        "layer { name: 'top1'",
        """
    layer { name: 'relu' type: 'ReLU' bottom: 'ip' top: 'ip' }
    layer { name: 'top1'""",
    )
    net = load(text, shapes={"data": (4,)})
    assert net.blobs["ip"] == "relu" and net.scores[0].source == "relu"
    assert net.conf.vertices[1].inputs == ("ip",) and net.conf.vertices[2].inputs == ("relu",)


def test_rates_decay_and_first_values():
    text = NET.replace(
        "inner_product_param {",
        """
        param { lr_mult: 2 decay_mult: 3 } param { lr_mult: 4 decay_mult: 0.5 }
        inner_product_param { weight_filler { type: 'gaussian' std: 0.1 }
                              bias_filler { value: 0.25 }""",
    )
    layer = load(text, shapes={"data": (4,)}, l2=0.1).conf.vertices[0].layer
    assert (layer.rate_factor, layer.bias_rate_factor, layer.decay_factor) == (2, 4, 3)
    assert (layer.bias_l1, layer.bias_l2, layer.initializer.std) == (0, 0.05, 0.1)
    assert layer.bias_initializer.value == 0.25
    layer = load(NET, shapes={"data": (4,)}, l1=0.1).conf.vertices[0].layer
    assert (layer.bias_l1, layer.bias_l2, layer.decay_factor) == (0.1, 0, 1)  # biases decay, too


def test_parameters_of_one_name_are_shared():
    both = "param { name: 'w' } param { name: 'b' }"
    text = NET.replace("inner_product_param {", both + " inner_product_param {")
    text += """
    layer { name: 'again' type: 'InnerProduct' bottom: 'data' top: 'again' %s
            inner_product_param { num_output: 3 } }
    layer { name: 'loss2' type: 'HingeLoss' bottom: 'again' bottom: 'label' top: 'loss2' }
    """
    net = load(text % both, shapes={"data": (4,)})
    assert net.conf.parameter_count == 4 * 3 + 3
    net = load(text % "param { name: 'w' }", shapes={"data": (4,)})
    assert net.conf.parameter_count == 4 * 3 + 3 + 3
    with pytest.raises(UnsupportedError, match="all parameters of a layer must be shared with one"):
        load(text % "param { } param { name: 'b' }", shapes={"data": (4,)})


def test_gradients_stop_where_nothing_is_propagated_down(rng):
    text = NET.replace(
        "bottom: 'ip' bottom: 'label' top: 'loss'",
        """
        bottom: 'ip' bottom: 'label' top: 'loss' propagate_down: false propagate_down: false""",
    )
    conf = load(text, shapes={"data": (4,)}).conf
    replica = Replica(conf)
    replica.gradient(batch_of(conf, rng, 8))
    assert not replica.grad.any()


FOR_EACH = [
    ("loss_weight: 1 loss_weight: 2", r"loss_weight must be .* each top, .* got \[1.0, 2.0\] for"),
    ("propagate_down: false", r"propagate_down must be given once for each bottom, .* \[False\]"),
]


@pytest.mark.parametrize("text, message", FOR_EACH, ids=["loss_weight", "propagate_down"])
def test_values_for_each_blob_are_as_many(text, message):
    """Caffe refuses other numbers; the values that had no blob were dropped without a word."""
    text = NET.replace("loss_weight: 0.5", text)
    with pytest.raises(ConfigError, match=f"layer 'loss'.*: SoftmaxWithLoss.{message}"):
        load(text, shapes={"data": (4,)})


def test_a_loss_without_a_top_has_a_weight():
    text = NET.replace("bottom: 'label' top: 'loss'", "bottom: 'label'")
    assert load(text, shapes={"data": (4,)}).scores[-1].weight == 0.5


def test_shapes_by_the_layers_of_data(tmp_path):
    columns = {"features": np.zeros((2, 3, 9, 8), np.uint8), "labels": np.zeros(2, np.int32)}
    write_lmdb(tmp_path / "db", [Batch(columns=columns, ids=np.arange(2, dtype=np.uint64))])
    text = NET.replace(
        "data_param {", "data_param { backend: LMDB source: '%s'" % (tmp_path / "db")
    )
    assert load(text).conf.input_shapes == {"data": (3, 9, 8)}
    text = text.replace("data_param", "transform_param { crop_size: 5 } data_param")
    assert load(text).conf.input_shapes == {"data": (3, 5, 5)}


def test_shapes_by_files_of_hdf5(tmp_path):
    with h5py.File(tmp_path / "one.h5", "w") as file:
        file["data"], file["label"] = np.zeros((5, 3, 4), np.float32), np.zeros(5)
    (tmp_path / "list.txt").write_text(f"{tmp_path / 'one.h5'}\n")
    said = f"hdf5_data_param {{ source: '{tmp_path / 'list.txt'}' batch_size: 2 }}"
    text = NET.replace("'Data'", "'HDF5Data'").replace("data_param { batch_size: 32 }", said)
    net = load(text)
    assert net.conf.input_shapes == {"data": (3, 4)} and net.data[0].batch_size == 2
    assert net.data[0].columns == {"data": "features", "label": "labels"}


def test_a_first_record_that_is_none(tmp_path):
    with lmdb.open(str(tmp_path / "db")) as environment, environment.begin(write=True) as writing:
        writing.put(b"0", b"\x08")
    source = f"data_param {{ backend: LMDB source: '{tmp_path / 'db'}'"
    with pytest.raises(DataError, match="db, first record: must be a Datum"):
        load(NET.replace("data_param {", source))


KINDS = {
    "'MemoryData' memory_data_param { channels: 3 height: 5 width: 4 }": (3, 5, 4),
    "'ImageData' image_data_param { new_height: 5 new_width: 4 }": (3, 5, 4),
    "'ImageData' image_data_param { new_height: 5 new_width: 4 is_color: false }": (1, 5, 4),
    "'ImageData' transform_param { crop_size: 5 }": (3, 5, 5),
    "'WindowData' transform_param { crop_size: 5 }": (3, 5, 5),
    "'Input' input_param { shape { dim: 10 dim: 3 dim: 5 dim: 4 } }": (3, 5, 4),
    "'DummyData' dummy_data_param { shape { dim: 10 dim: 6 } }": (6,),
    "'DummyData' dummy_data_param { num: 1 channels: 3 height: 5 width: 4 }": (3, 5, 4),
}


@pytest.mark.parametrize("text", KINDS)
def test_shapes_that_layers_of_data_say(text):
    conf = load(NET.replace("'Data'", text).replace("data_param { batch_size: 32 } }", "}")).conf
    assert conf.input_shapes == {"data": KINDS[text]}


REFUSED = {
    ("'InnerProduct'", "'InnerPrdct'"): (ConfigError, "'InnerPrdct'; did you mean 'InnerProduct'"),
    ("bottom: 'data'", "bottom: 'dta'"): (ConfigError, "no earlier layer outputs the blob 'dta'"),
    ("num_output: 3", ""): (ConfigError, "Dense.units must be an integer >= 1, got 0"),
    ("num_output: 3", "num_output: 3 axis: 2"): (ConfigError, "axis must be an axis of"),
    ("num_output: 3", "num_output: 3 weight_filler { type: 'xavir' }"): (
        ConfigError,
        "a filler's type must be one of",
    ),
}


@pytest.mark.parametrize("change", REFUSED, ids=str)
def test_what_cannot_be_is_told_with_its_place(change, tmp_path):
    kind, message = REFUSED[change]
    file = tmp_path / "net.prototxt"
    file.write_text(NET.replace(*change))
    with pytest.raises(kind, match=message) as caught:
        read_net(file, shapes={"data": (4,)})
    assert f"{file}, line 4, layer 'ip': " in str(caught.value)


def test_a_window_that_does_not_fit_is_told_with_its_place(tmp_path):
    file = tmp_path / "net.prototxt"
    file.write_text(Path(path("lenet")).read_text())
    with pytest.raises(ShapeError, match="line 64, layer 'conv2': conv2 cannot follow pool1"):
        read_net(file, shapes={"data": (1, 11, 11)})


def test_shapes_that_nobody_says_are_asked_for():
    with pytest.raises(ConfigError, match="the net does not say the shape of 'data'; give shapes="):
        load(NET)


MISSING = ["'Data' data_param { backend: LMDB", "'HDF5Data' hdf5_data_param {"]


@pytest.mark.parametrize("text", MISSING)
def test_data_that_are_not_there_are_named(text):
    said = f"{text} source: '/no/such' batch_size: 32 }}"
    net = NET.replace("'Data'", said).replace("data_param { batch_size: 32 }", "")
    with pytest.raises(ConfigError, match="/no/such is not there, and the net does not say the"):
        load(net)


def test_a_file_of_hdf5_without_the_blob(tmp_path):
    with h5py.File(tmp_path / "one.h5", "w") as file:
        file["other"] = np.zeros((5, 3, 4), np.float32)
    said = f"hdf5_data_param {{ source: '{tmp_path / 'one.h5'}' batch_size: 2 }}"
    text = NET.replace("'Data'", "'HDF5Data'").replace("data_param { batch_size: 32 }", said)
    with pytest.raises(ConfigError, match="one.h5 has no data set 'data', and the net does not"):
        load(text)


def test_a_net_of_a_phase_without_layers():
    with pytest.raises(ConfigError, match="the net has no layers in this state"):
        load("name: 'none'")


TWICE = """
layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 8 dim: 6 } } }
layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'code'
        inner_product_param { num_output: 3 } }
layer { name: 'ip' type: 'InnerProduct' bottom: 'code' top: 'again'
        inner_product_param { num_output: 6 } }
layer { name: 'loss' type: 'SigmoidCrossEntropyLoss' bottom: 'again' bottom: 'data'
        top: 'entropy' }
layer { name: 'out' type: 'Sigmoid' bottom: 'again' top: 'out' }
layer { name: 'loss' type: 'EuclideanLoss' bottom: 'out' bottom: 'data' top: 'l2'
        loss_weight: 0 }
"""


def test_two_layers_of_one_name():
    net = load(TWICE)
    assert net.conf.parameter_count == 6 * 3 + 3 + 3 * 6 + 6
    assert [vertex.name for vertex in net.conf.vertices] == [
        "ip",
        "ip (2)",
        "loss",
        "out",
        "loss (2)",
    ]
    assert [(s.blob, s.source, s.weight) for s in net.scores] == [
        ("entropy", "loss", 1.0),
        ("l2", "loss (2)", 0.0),
    ]


@pytest.mark.parametrize("name", ["net.caffemodel", "net.h5"])
def test_weights_of_two_layers_of_one_name(name, tmp_path, rng):
    net = load(TWICE)
    state = first_state(net.conf)
    state = replace(state, params=rng.normal(size=state.params.shape).astype(np.float32))
    save_weights(net.conf, state, tmp_path / name, net.layers)
    found, report = load_weights(net.conf, first_state(net.conf), tmp_path / name, net.layers)
    np.testing.assert_array_equal(found.params, state.params)
    assert report.loaded == ("ip", "ip (2)")


def test_a_file_of_caffe_s_with_weights_of_two_layers_of_one_name(tmp_path, rng):
    net, blobs = load(TWICE), {"ip": [(3, 6), (3,)], "ip (2)": [(6, 3), (6,)]}
    blobs = {k: [rng.normal(size=s).astype(np.float32) for s in v] for k, v in blobs.items()}
    write_weights(tmp_path / "net", blobs, layers={k: LayerParameter(name="ip") for k in blobs})
    state, _ = load_weights(net.conf, first_state(net.conf), tmp_path / "net", net.layers)
    views = net.conf.params_layout.views(state.params)
    np.testing.assert_array_equal(views["ip/W"], blobs["ip"][0].T)
    np.testing.assert_array_equal(views["ip (2)/b"], blobs["ip (2)"][1])


def test_a_layer_called_like_an_input(tmp_path):
    text = NET.replace("name: 'ip'", "name: 'data'").replace(
        "name: 'data' type: 'Data'", "name: 'x' type: 'Data'"
    )
    net = load(text, shapes={"data": (4,)})
    assert net.conf.parameter_count == 4 * 3 + 3
    state = first_state(net.conf)
    save_weights(net.conf, state, tmp_path / "net.caffemodel", net.layers)
    assert list(read_weights(tmp_path / "net.caffemodel")) == ["data"]
    found, report = load_weights(
        net.conf, replace(state, params=state.params * 0), tmp_path / "net.caffemodel", net.layers
    )
    np.testing.assert_array_equal(found.params, state.params)
    assert report.loaded == ("data",)


PLACES = {  # the error in NET's layers, and its line
    "the second of a name": (
        TWICE.replace("num_output: 6", "num_output: 0"),
        "line 5, layer 'ip': Dense.units must be",
    ),
    "several in a line": (
        TWICE.replace(
            "\nlayer { name: 'out' type: 'Sigmoid'", " layer { name: 'out' type: 'Sigmd'"
        ),
        "line 8, layer 'out': the type must be one of",
    ),
    "rules": (
        TWICE.replace("name: 'out'", "name: 'out' include { } exclude { }"),
        "line 9, layer 'out': a layer must have include or exclude rules, got both",
    ),
    "no bottom": (
        TWICE.replace("bottom: 'again' top: 'out'", "top: 'out'"),
        r"line 9, layer 'out': Sigmoid.bottom must be 1 blob, got \[\]",
    ),
    "a top too many": (
        TWICE.replace("top: 'out'", "top: 'out' top: 'more'"),
        r"line 9, layer 'out': Sigmoid.top must be at most 1 blob, got \['out', 'more'\]",
    ),
    "a loss that is read": (
        TWICE.replace("bottom: 'again' top: 'out'", "bottom: 'entropy' top: 'out'"),
        "line 9, layer 'out': 'entropy' must not be read by a layer: it is one number for",
    ),
    "a layer called like the inputs": (
        "input: 'x' input_dim: 1 input_dim: 3 input_dim: 2 input_dim: 2\n"
        "layer { name: 'input' type: 'RELU' bottom: 'x' top: 'y' }",
        "line 2, layer 'input': the type must be one of",
    ),
    "two forms": (TWICE + "layers { }", "net.prototxt: a net must have its layers in `layer`"),
    "no layer": ("name: 'none'", "net.prototxt: the net has no layers in this state"),
}


@pytest.mark.parametrize("name", PLACES)
def test_errors_name_file_and_line(name, tmp_path):
    text, message = PLACES[name]
    file = tmp_path / "net.prototxt"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        read_net(file)
    assert str(caught.value).startswith(f"{file}")
