"""Functions that build live models: identified by name, but never imported by name."""

import pickle

import pytest

from sparkdl.errors import ConfigError
from sparkdl.interop.live.maker import MakerOption

OPTION = MakerOption(owner="KerasModel", builds="keras.Model")


def build():
    return "a model"


def test_a_name_finds_the_function_that_this_process_was_given():
    maker = OPTION.check(build, "make")
    assert str(maker) == f"{__name__}:build" and maker() == "a model"
    assert OPTION.check(str(maker), "make") is maker
    assert pickle.loads(pickle.dumps(maker)) is maker
    assert maker.owner == "KerasModel"


def test_a_name_alone_runs_nothing():
    maker = OPTION.check("os:getcwd", "make")
    with pytest.raises(ConfigError, match="KerasModel.make must be a function that this process"):
        maker()


def test_what_is_no_function_is_refused():
    with pytest.raises(ConfigError, match="builds a keras.Model, got 3"):
        OPTION.check(3, "KerasModel.make")
