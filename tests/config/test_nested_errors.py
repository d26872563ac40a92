"""Errors in nested options name the path of fields to the option."""

import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn import NetworkConf
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.registry import training_master

DENSE = {"type": "Dense", "units": 3}


def conf_of(*layers):
    return NetworkConf.from_dict({"input_shape": [4], "layers": [DENSE, *layers]})


def wrap(layer, depth):
    return wrap({"type": "Frozen", "layer": layer}, depth - 1) if depth else layer


REFUSED = [
    (
        DENSE | {"activation": {"type": "elu", "alhpa": 1}},
        "NetworkConf.layers[1].activation: Elu has no field 'alhpa'; did you mean 'alpha'?",
    ),
    (
        DENSE | {"units": 0},
        "NetworkConf.layers[1]: Dense.units must be an integer >= 1, got 0",
    ),
    ("dense", "NetworkConf.layers[1]: Dense needs the field 'units'"),
    (wrap({"type": "Dense"}, 1), "NetworkConf.layers[1].layer: Dense needs the field 'units'"),
]


@pytest.mark.parametrize("layer, message", REFUSED, ids=[message for _, message in REFUSED])
def test_the_path_leads_to_the_layer(layer, message):
    with pytest.raises(ConfigError) as caught:
        conf_of(layer)
    assert str(caught.value) == message


def test_a_long_path_is_cut_in_its_middle():
    with pytest.raises(ConfigError) as caught:
        conf_of(wrap({"type": "Dense", "unit": 3}, 40))
    text = str(caught.value)
    assert text.startswith("NetworkConf.layers[1].layer.layer") and len(text) < 250
    assert text.endswith(".layer.layer: Dense has no field 'unit'; did you mean 'units'?")


def test_a_nested_configuration_has_its_path():
    with pytest.raises(ConfigError, match="^AllReduceSGD.tls: Tls has no field 'key_file'"):
        AllReduceSGD(tls={"key_file": "key.pem"})


NAMELESS = {
    "an option": ({"type": "AllReduceSGD", "timeout": 0}, "AllReduceSGD.timeout must be "),
    "a nested option": (
        {"type": "AllReduceSGD", "tls": {"key_file": "key.pem"}},
        "AllReduceSGD.tls: Tls has no field 'key_file'",
    ),
    "a name": ("AllReduce", "type must be one of AllReduceSGD, "),
    "no type": ({"timeout": 1}, "TrainingMaster needs a 'type'"),
}


@pytest.mark.parametrize("name", NAMELESS)
def test_an_unnamed_place_is_left_out_of_the_path(name):
    options, message = NAMELESS[name]
    with pytest.raises(ConfigError) as caught:
        training_master(options)
    assert str(caught.value).startswith(message)


def test_another_word_for_a_choice_names_ours():
    with pytest.raises(ConfigError, match="got 'gpu'; did you mean 'cuda'"):
        AllReduceSGD(device="gpu")
