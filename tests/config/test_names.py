"""Names in any letter case, misspelled names, and names from other systems."""

import re
from dataclasses import fields

import numpy as np
import pytest

import sparkdl.nn as nn
import sparkdl.readers  # noqa: F401  the family of sources
from sparkdl.config import Member, foreign, suggestion
from sparkdl.config.names import find_name, key, list_names, one_of
from sparkdl.errors import ConfigError
from sparkdl.training.masters.registry import MASTERS


@pytest.mark.parametrize(
    "name, found",
    [
        ("adam", "Adam"),
        ("ADAM", "Adam"),
        ("Adam", "Adam"),
        ("nadam", "Nadam"),
        ("ada_max", "AdaMax"),
        ("adma", None),
        (3, None),
        (["Adam"], None),
    ],
)
def test_a_name_is_known_in_any_case(name, found):
    assert find_name(name, ["Nadam", "Adam", "AdaMax"]) == found


def test_a_name_that_fits_two_is_none_of_them_unless_it_is_one():
    assert find_name("AB", ["a_b", "ab"]) is None and find_name("ab", ["a_b", "ab"]) == "ab"


def test_lists_few_names_and_the_first_of_many():
    assert list_names(["b", "a"]) == "a, b"
    many = [f"layer{i:03}" for i in range(100)]
    assert list_names(many) == ", ".join(many[:40]) + " and 60 more"


def test_the_error_for_a_layer_that_is_not_known_is_short():
    with pytest.raises(ConfigError) as caught:
        nn.TimeDistributed(layer="Densse")
    point = r"must be one of \d+ names, got 'Densse'; did you mean 'Dense'\? they are Activation, "
    assert re.match(f"TimeDistributed.layer {point}", str(caught.value))
    assert str(caught.value).endswith(" more") and len(str(caught.value)) < 550


def test_few_names_come_before_the_point_and_many_behind_it():
    assert one_of(["b", "a"], ", got 'c'") == "one of a, b, got 'c'"
    many = [f"layer{i:02}" for i in range(30)]
    assert one_of(many, ", got 'c'") == f"one of 30 names, got 'c'; they are {', '.join(many)}"


@pytest.mark.parametrize(
    "name, known, end",
    [
        ("unit", ["units", "bias"], "; did you mean 'units'?"),
        ("Adma", ["AdaMax", "Adam"], "; did you mean 'Adam'?"),
        ("lr", ["learning_rate", "beta1"], "; did you mean 'learning_rate'?"),
        ("num_output", ["units", "filters"], "; did you mean 'units' or 'filters'?"),
        ("num_output", ["filters"], "; did you mean 'filters'?"),
        ("qqq", ["units"], ""),
        ("x" * 10**6, ["units"], ""),
        (None, ["units"], ""),
    ],
)
def test_suggests(name, known, end):
    assert suggestion(name, known) == end


MADE_OF = {
    "Keras": (lambda: nn.MaxPool2D(kernel_size=3), "did you mean 'size'?"),
    "Caffe's kernel": (lambda: nn.Conv2D(filters=1, kernel=3), "did you mean 'kernel_size'?"),
    "PyTorch": (lambda: nn.Adam(lr=0.1), "Adam has no field 'lr'; did you mean 'learning_rate'?"),
    "PyTorch's width": (lambda: nn.Dense(out_features=3), "did you mean 'units'?"),
    "DL4J": (lambda: nn.Dense(nOut=3), "Dense has no field 'nOut'; did you mean 'units'?"),
    "Caffe": (lambda: nn.Conv2D(num_output=3, kernel_size=1), "did you mean 'filters'?"),
    "by place": (lambda: nn.Dense(64), "Dense takes options by name only; write units=64"),
    "a base's option by place": (
        lambda: nn.Momentum(0.01),
        "Momentum takes options by name only; write learning_rate=0.01",
    ),
    "a rate by place": (lambda: nn.Dropout(0.5), "by name only; write rate=0.5"),
    "an activation by place": (lambda: nn.Dense("relu"), "by name only; write activation='relu'"),
    "layers by place": (
        lambda: nn.NetworkConf(nn.Dense(units=3), nn.Output(units=2)),
        "NetworkConf takes options by name only; write layers=[...]",
    ),
    "layers by place, in a list": (
        lambda: nn.NetworkConf([nn.Dense(units=3), nn.Output(units=2)]),
        "NetworkConf takes options by name only; write layers=[...]",
    ),
    "a shape by place": (
        lambda: nn.NetworkConf((3,), [nn.Dense(units=3), nn.Output(units=2)]),
        "NetworkConf takes options by name only; write input_shape=(3,)",
    ),
    "PyTorch's loss": (
        lambda: nn.Output(units=1, loss="CrossEntropyLoss"),
        "did you mean 'softmax_cross_entropy'?",
    ),
    "Keras's loss of several labels": (
        lambda: nn.Output(units=2, loss="binary_crossentropy"),
        "did you mean 'sigmoid_cross_entropy'? (the mean over several labels, as theirs, is "
        "SigmoidCrossEntropy(averaged=True))",
    ),
    "Keras's long word": (
        lambda: nn.Output(units=2, loss="mean_squared_error"),
        "did you mean 'mse'?",
    ),
    "PyTorch's class": (lambda: nn.Output(units=2, loss="SmoothL1Loss"), "did you mean 'huber'?"),
    "a loss of either": (
        lambda: nn.Output(units=2, loss="log_loss"),
        "did you mean 'softmax_cross_entropy' or 'sigmoid_cross_entropy'?",
    ),
    "linear": (lambda: nn.Dense(units=1, activation="linear"), "did you mean 'identity'?"),
    "updater": (lambda: nn.NetworkConf(updater="Sgd"), "did you mean 'optimizer'?"),
}


@pytest.mark.parametrize("case", MADE_OF)
def test_words_of_other_systems_lead_to_ours(case):
    make, message = MADE_OF[case]
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)


class CrossEntropyLoss:
    """Has the name of PyTorch's."""


def own(z, labels):
    return z - labels


LOSS = "; write your own as a subclass of sparkdl.losses.Loss, whose per_example(z, labels)"
OBJECTS = {  # what is given instead of a name, where, and the advice
    "an object": ("Loss", CrossEntropyLoss(), "; did you mean 'softmax_cross_entropy'?"),
    "a class": ("Loss", CrossEntropyLoss, "; did you mean 'softmax_cross_entropy'?"),
    "a function": ("Loss", own, LOSS),
    "a lambda": ("Loss", lambda z, labels: z, LOSS),
    "an activation": ("ActivationFunction", own, "subclass of sparkdl.activations.ActivationFunct"),
    "our class": ("Optimizer", nn.Adam, "; did you mean 'Adam'?"),
}


@pytest.mark.parametrize("case", OBJECTS)
def test_an_object_of_another_system_leads_to_ours(case):
    family, given, advice = OBJECTS[case]
    with pytest.raises(ConfigError) as caught:
        families()[family].find(given, "it must be ")
    assert advice in str(caught.value)


@pytest.mark.parametrize("given", [3, None, 0.5, [1], np.float32(3), nn.Adam(), nn.Adam])
def test_what_is_no_loss_at_all_gets_no_advice(given):
    with pytest.raises(ConfigError) as caught:
        families()["Loss"].find(given, "it must be ")
    assert "write" not in str(caught.value) and "did you mean" not in str(caught.value)


def families():
    return {f.__name__: f for f in Member.__subclasses__() if f.__module__.startswith("sparkdl.")}


@pytest.mark.parametrize("family", foreign.TYPES)
def test_every_type_in_the_table_leads_somewhere(family):
    members = families()[family].members
    for theirs, ours in foreign.TYPES[family].items():
        assert theirs == key(theirs) and find_name(theirs, members) is None, theirs
        assert set(ours.split()) <= set(members), theirs


def test_every_note_is_of_a_word_of_the_table():
    for family, notes in foreign.NOTES.items():
        table = foreign.OPTIONS if family is None else foreign.TYPES[family]
        assert notes.keys() <= table.keys()


def test_every_option_in_the_table_leads_somewhere():
    members = [one for family in families().values() for one in family.members.values()]
    classes = [nn.NetworkConf, nn.GraphConf, *MASTERS.values(), *members]
    known = {item.name for one in classes for item in fields(one)}
    for theirs, ours in foreign.OPTIONS.items():
        assert theirs == key(theirs) and ours and set(ours.split()) <= known, theirs
