"""Contract of every option: validated on construction, and equal after a round trip."""

import json
import pickle
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest

from sparkdl.config import Member, text
from sparkdl.errors import ConfigError
from sparkdl.nn.activations import ActivationFunction, LeakyRelu, Relu
from sparkdl.nn.initializers import Normal
from sparkdl.nn.layers import Conv2D, Dense, Layer
from sparkdl.nn.optimizers import Adam, Optimizer, Sgd
from sparkdl.nn.schedules import MultiStepSchedule, Schedule, StepSchedule, WarmUpSchedule
from tests.nn.examples import FAMILIES
from tests.support.tables import for_all


def test_every_family_is_in_the_table():
    ours = {f for f in Member.__subclasses__() if f.__module__.startswith("sparkdl.nn.")}
    assert ours == set(FAMILIES)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_every_registered_member_has_an_example(family):
    ours = {n for n, c in family.members.items() if c.__module__.startswith("sparkdl.")}
    assert {member.type_name for member in FAMILIES[family]} == ours


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_comes_back_from_a_dict_json_and_yaml(family):
    def check(member):
        options = member.to_dict()
        assert family.from_dict(options) == member
        assert family.from_dict(text.from_json(text.to_json(options))) == member
        assert family.from_dict(text.from_yaml(text.to_yaml(options))) == member
        assert pickle.loads(pickle.dumps(member)) == member

    for_all(FAMILIES[family], check)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_is_frozen_and_hashable(family):
    def check(member):
        assert hash(member) == hash(family.from_dict(member.to_dict()))
        with pytest.raises(FrozenInstanceError):
            member.type_name = "other"

    for_all(FAMILIES[family], check)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_refuses_an_unknown_option(family):
    def check(member):
        with pytest.raises(ConfigError, match=f"{type(member).__name__} has no field 'color'"):
            family.from_dict(member.to_dict() | {"color": 1})

    for_all(FAMILIES[family], check)


def test_defaults_are_left_out_and_needed_options_come_first():
    assert Dense(units=3).to_dict() == {"type": "Dense", "units": 3}
    assert list(Dense(name="fc", units=3).to_dict()) == ["type", "units", "name"]
    assert Dense(units=3, activation="relu").to_dict()["activation"] == "relu"
    assert Dense(units=3, bias_initializer="zeros").to_dict() == {"type": "Dense", "units": 3}


def test_lists_and_numpy_numbers_are_as_good_as_tuples_and_plain_ones():
    layer = Conv2D(filters=np.int64(2), kernel_size=[3, np.int32(3)], l2=np.float64(0.5))
    assert layer == Conv2D(filters=2, kernel_size=(3, 3), l2=0.5)
    assert json.loads(json.dumps(layer.to_dict()))["kernel_size"] == [3, 3]


def test_members_may_be_given_by_name_by_dict_or_as_such():
    wanted = LeakyRelu(alpha=0.2)
    given = {"type": "leaky_relu", "alpha": 0.2}
    assert Dense(units=1, activation=given) == Dense(units=1, activation=wanted)
    assert Dense(units=1, activation="relu").activation == Relu()
    assert Sgd(
        learning_rate={"type": "StepSchedule", "initial": 1, "step": 2}
    ).learning_rate == StepSchedule(initial=1, step=2)


def test_str_tells_what_was_chosen():
    assert str(Dense(units=3, activation="relu")) == "Dense(units=3, activation=Relu())"
    assert (
        str(MultiStepSchedule(initial=1.0, steps=[2, 5]))
        == "MultiStepSchedule(initial=1.0, steps=(2, 5))"
    )


REFUSED = {
    "unknown field": (
        lambda: Layer.from_dict({"type": "Dense", "unit": 3}),
        "Dense has no field 'unit'; did you mean 'units'?",
    ),
    "unknown field of a nested member": (
        lambda: Dense(units=1, activation={"type": "elu", "alhpa": 1}),
        "Elu has no field 'alhpa'; did you mean 'alpha'?",
    ),
    "missing field": (lambda: Layer.from_dict({"type": "Dense"}), "Dense needs the field 'units'"),
    "no type": (
        lambda: Optimizer.from_dict({"learning_rate": 1}),
        "Optimizer needs a 'type', got {'learning_rate': 1}",
    ),
    "unknown type": (
        lambda: Optimizer.from_dict({"type": "Adma"}),
        "Momentum, Nadam, Nesterov, RmsProp, Sgd, got 'Adma'; did you mean 'Adam'?",
    ),
    "unknown name": (
        lambda: Dense(units=1, initializer="xavierr"),
        "got 'xavierr'; did you mean 'xavier'?",
    ),
    "name of nothing": (lambda: Dense(units=1, activation=3), "Dense.activation must be one of"),
    "type that is a list": (lambda: Layer.from_dict({"type": ["Dense"]}), "got ['Dense']"),
    "another family": (
        lambda: Dense(units=1, activation=Normal()),
        "Dense.activation must be one of 29 names, got Normal(std=0.01, mean=0.0",
    ),
    "name of a member that needs options": (
        lambda: Dense(units=1, initializer="constant"),
        "Constant needs the field 'value'",
    ),
    "text for a number": (
        lambda: Sgd(learning_rate="0.1"),
        "Sgd.learning_rate must be a number above 0 or one of 15 names, got '0.1'; they are Cosine",
    ),
    "None where there is no default None": (
        lambda: WarmUpSchedule(steps=1, then=None),
        "WarmUpSchedule.then must be a number above 0 or one of",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refuses(case):
    make, message = REFUSED[case]
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)


def test_a_new_member_registers_itself_and_a_taken_name_is_refused():
    @dataclass(frozen=True, kw_only=True)
    class Square(ActivationFunction, name="test_square"):
        def apply(self, x):
            return x * x

    try:
        layer = Dense(units=1, activation="test_square")
        assert Layer.from_dict(layer.to_dict()) == layer
        with pytest.raises(ConfigError, match="'test_square' is already the name of"):

            class Another(ActivationFunction, name="test_square"):
                pass
    finally:
        del ActivationFunction.members["test_square"]


def test_members_of_one_family_with_equal_options_differ():
    assert Sgd(learning_rate=0.1) != Adam(learning_rate=0.1)
    assert Schedule.from_dict({"type": "FixedSchedule", "initial": 1}) != 1
