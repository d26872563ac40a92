"""Text files are read as in Caffe; unknown fields and values give errors with their line."""

import pytest

from sparkdl.errors import ConfigError, DataError
from sparkdl.interop.caffe.messages.fields import FIELDS
from sparkdl.interop.caffe.messages.prototxt import parse_text, text_of
from sparkdl.interop.caffe.messages.schema import MESSAGES, NetParameter, SolverParameter, table

NET = """name: "small"
# a comment
layer {
  name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param { num_output: 20 kernel_size: 5 weight_filler { type: 'xavier' } }
}
layer { name: "pool1"
  type: "Pooling" bottom: "conv1" top: "pool1"
  pooling_param { pool: AVE stride: 2 }
}
"""


def test_what_is_written_and_what_is_not():
    net = parse_text(NET, NetParameter)
    conv, pool = net.layer
    assert (conv.name, conv.type, list(conv.bottom)) == ("conv1", "Convolution", ["data"])
    assert list(conv.convolution_param.kernel_size) == [5]
    assert conv.convolution_param.weight_filler.type == "xavier"
    assert (conv.convolution_param.group, conv.convolution_param.bias_term) == (1, True)
    names = pool.pooling_param.DESCRIPTOR.enum_types_by_name
    assert names["PoolMethod"].values_by_number[pool.pooling_param.pool].name == "AVE"
    assert names["RoundMode"].values_by_number[pool.pooling_param.round_mode].name == "CEIL"


DEFAULTS = {
    "LRNParameter": {"local_size": 5, "alpha": 1.0, "beta": 0.75, "k": 1.0},
    "DropoutParameter": {"dropout_ratio": 0.5},
    "BatchNormParameter": {
        "eps": pytest.approx(1e-5),
        "moving_average_fraction": pytest.approx(0.999),
    },
    "FillerParameter": {"type": "constant", "std": 1.0, "sparse": -1, "max": 1.0},
    "SolverParameter": {"delta": pytest.approx(1e-8), "type": "SGD", "clip_gradients": -1.0},
    "PoolingParameter": {"stride": 1, "pad": 0},
    "MVNParameter": {"eps": pytest.approx(1e-9), "normalize_variance": True},
    "ExpParameter": {"base": -1.0},
    "MemoryDataParameter": {"share_in_parallel": True, "dataframe_format": "parquet"},
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults(name):
    message = MESSAGES[name]()
    assert {field: getattr(message, field) for field in DEFAULTS[name]} == DEFAULTS[name]


def test_every_message_of_the_table_is_there():
    names = [name for kind, name, _ in table(FIELDS) if kind == "message"]
    assert sorted(MESSAGES) == sorted(names) and len(names) == len(set(names))


WRONG = {
    "an unknown field": (
        NET.replace("num_output", "num_outputs"),
        r"net, line 5, layer 'conv1': ConvolutionParameter has no field 'num_outputs'; "
        r"did you mean 'num_output'\?",
    ),
    "an unknown block": (
        NET.replace("pooling_param", "pooling_parm"),
        "net, line 9, layer 'pool1': LayerParameter has no field 'pooling_parm'; did you mean "
        "'pooling_param'",
    ),
    "another type": (NET.replace("20", '"many"'), "net, line 5, layer 'conv1': "),
    "an unknown choice": (NET.replace("AVE", "MEAN"), "net, line 9, layer 'pool1': .*MEAN"),
    "no end": (NET + "layer { name: 'last'", "net, line 11, layer 'last': "),
    "not in a layer": ("nam: 'x'", "net, line 1: NetParameter has no field 'nam'; did you mean"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_error_says_where(name):
    text, says = WRONG[name]
    with pytest.raises(ConfigError, match=says):
        parse_text(text, NetParameter, "net")


def test_reads_files(tmp_path):
    (tmp_path / "solver.prototxt").write_text('net: "net.prototxt" base_lr: 0.01 lr_policy: "inv"')
    solver = parse_text(text_of(tmp_path / "solver.prototxt"), SolverParameter)
    assert (solver.net, solver.lr_policy, solver.max_iter) == ("net.prototxt", "inv", 0)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="none.prototxt: there is no such file"):
        text_of(tmp_path / "none.prototxt")


def test_a_file_that_is_no_text(tmp_path):
    (tmp_path / "net").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="net must be a text file"):
        text_of(tmp_path / "net")
