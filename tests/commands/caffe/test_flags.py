"""Flags of CaffeOnSpark: their meaning, and the errors for bad ones."""

import pytest

from sparkdl import cli
from sparkdl.commands.caffe.flags import FLAGS
from sparkdl.commands.caffe.options import options_of
from sparkdl.errors import ConfigError

USE = "-conf s.prototxt -test -model m.caffemodel"


def parsed(text):
    return options_of(cli.parser().parse_args(["caffe", *text.split()]))


MEANINGS = {  # flag: (more arguments, resulting options)
    "conf": ("", {"conf": "s.prototxt"}),
    "train": ("-train", {"train": True, "use": "test"}),
    "test": ("", {"train": False, "use": "test"}),
    "features": ("-features fc7,prob", {"use": "features", "features": ("fc7", "prob")}),
    "label": ("-features fc7 -label label", {"features": ("fc7", "label")}),
    "outputFormat": ("-outputFormat parquet", {"output_format": "parquet"}),
    "model": ("", {"model": "m.caffemodel", "weights_in_use": "m.caffemodel"}),
    "output": ("-output hdfs://here/out", {"output": "hdfs://here/out"}),
    "devices": ("-devices 2", {"devices": 2}),
    "persistent": ("-persistent", {"persistent": True}),
    "snapshot": ("-snapshot s.solverstate", {"snapshot": "s.solverstate"}),
    "weights": ("-weights w.caffemodel", {"weights": "w.caffemodel"}),
    "connection": ("-connection infiniband", {"connection": "infiniband"}),
    "resize": ("-resize", {"resize": True}),
    "clusterSize": ("-clusterSize 3", {"cluster_size": 3}),
    "shapes": (
        "-shapes data:3,227,227,words:20,one:5",
        {"shapes": {"data": (3, 227, 227), "words": (20,), "one": (5,)}},
    ),
    "lmdb_partitions": ("-lmdb_partitions 4", {"lmdb_partitions": 4}),
}
OF_TIME = {"iterations", "phase", "level", "stage"}


def test_every_flag_has_a_row():
    assert {flag.name for flag in FLAGS if not flag.cure} == {*MEANINGS, *OF_TIME}


@pytest.mark.parametrize("name", MEANINGS)
def test_flag_means(name):
    text, meaning = MEANINGS[name]
    options = parsed(f"{USE} {text}")
    assert {key: getattr(options, key) for key in meaning} == meaning


def test_what_is_not_given_is_as_in_caffe_on_spark():
    options = parsed(USE)
    assert (options.output, options.output_format, options.devices) == ("output", "json", 1)
    assert (options.connection, options.features, options.notes) == ("ethernet", (), ())
    assert options.cluster_size is options.lmdb_partitions is options.snapshot is None
    assert not (options.persistent or options.resize or options.shapes)


@pytest.mark.parametrize("text", ["3,227", "data:", "data:3,x", ":3", "data:0", "data:3,,4"])
def test_shapes_that_are_none(text):
    with pytest.raises(ConfigError, match="-shapes must be BLOB:SIZE,SIZE as data:3,227,227, got"):
        parsed(f"{USE} -shapes {text}")


def test_two_dashes_are_as_good():
    assert parsed("--conf s --features a --model m") == parsed("-conf s -features a -model m")


NOTES = {
    "-features a": "the later one, -features, is run",
    "-features a -test": "the later one, -test, is run",
    "-train -connection infiniband": "not RDMA; set SPARKDL_INTERFACE=ib0",
    "-snapshot a": "-snapshot has no effect without -train",
    "-weights a": "-weights has no effect without -train",
    "-persistent": "-persistent has no effect without -train",
    "-connection none": "-connection has no effect without -train",
    "-outputFormat orc": "-outputFormat has no effect without -features, or -output of tests",
    "-iterations 3": "-iterations has no effect without time",
    "-phase TEST": "-phase has no effect without time",
    "-level 1": "-level has no effect without time",
    "-stage a": "-stage has no effect without time",
    "-label a": "-label has no effect without -features",
}


@pytest.mark.parametrize("text", NOTES)
def test_what_has_no_effect_is_said(text):
    [note] = parsed(f"{USE} {text}").notes
    assert NOTES[text] in note


def test_weights_alone_are_the_model():
    options = parsed("-conf s -test -weights w")
    assert (options.weights_in_use, options.notes) == ("w", ())


REFUSED = {
    "-conf s -model m": "a mode is missing; give -train, -test or -features",
    "-test -model m": "-conf is missing; it names the solver's prototxt",
    "-conf s -train": "-model is missing; it says where the trained model goes",
    "-conf s -test": "-model is missing; it names the .caffemodel that is used",
    f"{USE} -devices 0": "-devices must be an integer >= 1, got 0",
    f"{USE} -clusterSize 0": "-clusterSize must be an integer >= 1, got 0",
    f"{USE} -lmdb_partitions -1": "-lmdb_partitions must be an integer >= 1, got -1",
    f"{USE} -connection ethernt": "'ethernt'; did you mean 'ethernet'?",
    f"{USE} -outputFormat csv": "one of json, parquet, orc, got 'csv'; other formats cannot hold",
    f"{USE} -features a,,b": "-features must be names such as fc7,prob, got 'a,,b'",
    f"{USE} -gpu 0": "-gpu is not supported; -devices says how many",
    f"{USE} -solver s": "-solver is not supported; give it as -conf",
    f"{USE} -imageRoot here": "-imageRoot is not supported; images become an LMDB by sparkdl",
    f"{USE} -vocabSize 9": "-vocabSize is not supported; coco_captions and Vocab of sparkdl",
    "train -conf s": "a tool must be time or device_query, got 'train'; modes are flags: -train",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_is_refused_with_the_cure(text):
    with pytest.raises(ConfigError) as error:
        parsed(text)
    assert REFUSED[text] in str(error.value)
