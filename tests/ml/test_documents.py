"""Values of Params as JSON: an object, its text and its quoted text are equivalent."""

import json

import pytest

from sparkdl.errors import ConfigError
from sparkdl.masters import AllReduceSGD
from sparkdl.ml.documents import (
    conf_of,
    master_of,
    to_master,
    to_network,
    to_transform,
    transform_of,
)
from sparkdl.training.network import Network
from sparkdl.transforms import Compose, Mirror, Scale
from tests.ml.frames import classes_conf

MASTER = AllReduceSGD(batch_size_per_worker=7, codec="OneBit")
SCALE = Compose(Scale(factor=1 / 255), Mirror())
VALUES = {
    "network": (to_network, conf_of, classes_conf()),
    "master": (to_master, master_of, MASTER),
    "transform": (to_transform, transform_of, SCALE),
}


@pytest.mark.parametrize("name", VALUES)
def test_an_object_and_its_text_are_one(name):
    convert, parse, value = VALUES[name]
    text = convert(value)
    assert convert(text) == text
    assert parse(text) == value
    assert "\n" not in text


def test_defaults_are_left_out():
    assert json.loads(to_master(AllReduceSGD())) == {"type": "AllReduceSGD"}
    assert to_master("AllReduceSGD") == to_master(AllReduceSGD())


def test_a_network_with_weights_stays_what_it_is():
    network = Network(classes_conf())
    given = to_network(network)
    assert given.network is network
    assert to_network(given) is given


REFUSED = {
    "a network": (to_network, 3, TypeError, "network must be a NetworkConf, .* got 3"),
    "no JSON": (
        to_network,
        "lenet",
        TypeError,
        "network must be .* the JSON of a conf, got 'lenet'",
    ),
    "half a network": (to_network, '{"layers": ', ConfigError, "not valid JSON"),
    "a master": (to_master, Scale(), TypeError, "master must be a TrainingMaster or its JSON"),
    "no such master": (to_master, "AllReduce", ConfigError, "AllReduceSGD"),
    "half a master": (to_master, '{"type": ', ConfigError, "master must be JSON, got"),
    "a deep master": (to_master, '{"a": ' + "[" * 100_000, ConfigError, "master must be JSON, got"),
    "a function": (to_transform, len, TypeError, "it is saved with the model, so it is a member"),
    "half a transform": (to_transform, '{"type": ', ConfigError, "transform must be JSON"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_others_are_refused(case):
    convert, value, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        convert(value)
