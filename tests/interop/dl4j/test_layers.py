"""Layers and options of Deeplearning4j, read from modified configurations."""

from dataclasses import replace

import pytest

from sparkdl.errors import DataError, UnsupportedError
from sparkdl.interop.dl4j import read_dl4j
from sparkdl.interop.dl4j.nodes import order_of
from sparkdl.nn import layers as nn
from tests.interop.dl4j.saved_models import changed, read
from tests.support.tables import for_all

PACKAGE = "org.deeplearning4j.nn.conf."


def conf_of(tmp_path, change, name="mlp", **options):
    path = changed(tmp_path, {}, name, change)
    return read_dl4j(path, training=True, **options).network.conf


def drop(value):
    return lambda config: config["confs"][1]["layer"].update(value)


DROPOUTS = {
    "share that is kept": ({"dropOut": 0.75}, nn.Dropout(rate=0.25)),
    "object": (
        {"idropout": {"@class": f"{PACKAGE}dropout.Dropout", "p": 0.75}},
        nn.Dropout(rate=0.25),
    ),
    "noise": (
        {"idropout": {"@class": f"{PACKAGE}dropout.GaussianNoise", "stddev": 0.5}},
        nn.GaussianNoise(std=0.5),
    ),
}


def test_dropout_stands_before_its_layer(tmp_path):
    def check(row):
        value, layer = DROPOUTS[row]
        conf = conf_of(tmp_path, drop(value))
        at = [vertex.name for vertex in conf.vertices].index("layer1")
        assert replace(conf.vertices[at - 1].layer, name=None) == layer
        assert conf.vertices[at].inputs == (conf.vertices[at - 1].name,)

    for_all(DROPOUTS, check)


def test_truncated_backpropagation(tmp_path):
    change = {"backpropType": "TruncatedBPTT", "tbpttFwdLength": 4, "tbpttBackLength": 3}
    path = changed(tmp_path, {}, "graves", lambda config: config.update(change))
    assert read_dl4j(path, shapes=(6, 3)).network.conf.tbptt == (4, 3)


def test_frozen_layers_stay_frozen():
    [fixed] = [v.layer for v in read("graph").network.conf.vertices if v.name == "fixed"]
    assert isinstance(fixed, nn.Frozen) and isinstance(fixed.layer, nn.Dense)


def test_losses_of_steps_are_added():
    assert read("graves").network.conf.output.reduction == "sum"
    assert isinstance(read("graves").network.conf.output, nn.RnnOutput)


def test_a_loss_that_does_not_hold_its_activation_stands_behind_it():
    conf = read("graph").network.conf
    layers = {vertex.name: vertex.layer for vertex in conf.vertices}
    assert isinstance(layers["first"], nn.LossLayer)
    assert layers["first/dense"].activation.type_name == "tanh"


def kernel_of_one(config):
    config["vertices"]["conv"]["layerConf"]["layer"]["kernelSize"] = [1, 1]


def test_filters_that_may_lie_in_two_ways_are_refused(tmp_path):
    path = changed(tmp_path, {}, "sequence", kernel_of_one)
    with pytest.raises(UnsupportedError, match="conv .*kernelSize"):
        read_dl4j(path)


def test_the_order_of_vertices_is_first_in_first_out():
    reads = {"a": ("x",), "join": ("b", "a"), "b": ("x",), "last": ("join",), "side": ("a",)}
    assert order_of(("x",), reads) == ["x", "a", "b", "side", "join", "last"]
    with pytest.raises(DataError, match="no cycle"):
        order_of(("x",), {"a": ("b",), "b": ("a",)})
    with pytest.raises(DataError, match="reads 'y'"):
        order_of(("x",), {"a": ("y",)})
