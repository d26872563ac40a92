"""Notebook display of a network."""

import re

import pytest

from sparkdl import zoo
from sparkdl.nn import Dense, NetworkConf, Output
from sparkdl.nn.networks import picture


def texts(conf):
    shown = re.findall(r">([^<>]+)<", conf._repr_html_())
    return [text.strip() for text in shown if text.strip()]


def test_layers_stand_in_a_table_and_a_picture():
    conf = NetworkConf(input_shape=(4,), layers=[Dense(units=5), Output(units=3)])
    shown = texts(conf)
    assert shown[:6] == [
        "NetworkConf: 43 parameters",
        "layer",
        "type",
        "reads",
        "output shape",
        "parameters",
    ]
    assert shown[6:11] == ["dense_1", "Dense", "features", "(5,)", "25"]
    assert shown[11:16] == ["output_1", "Output", "dense_1", "(3,)", "18"]
    assert shown[16].startswith("a step of 64 examples takes 3.4 kB (parameters 172 B")
    assert shown[17:20] == [
        "As a picture",
        "The network: 2 layers, which the table lists",
        "features",
    ]


@pytest.mark.parametrize("most, pictures", [(300, 1), (5, 0)])
def test_a_graph_of_many_layers_has_its_table(most, pictures, monkeypatch):
    monkeypatch.setattr(picture, "MOST", most)
    conf = zoo.resnet18()
    assert conf._repr_html_().count("<svg") == pictures
    shown = texts(conf)
    assert shown[0] == f"GraphConf: {conf.parameter_count:,} parameters"
    assert {place.name for place in conf.stack} <= set(shown)
