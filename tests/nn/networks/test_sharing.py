"""Vertices that share parameters: only the owner sets their training options."""

import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn import Adam, Dense, Frozen, GraphBuilder, Output
from sparkdl.nn.constraints import MaxNorm


def towers(owner, sharer):
    """Returns two stacked vertices; `sharer` uses the parameters of `owner`."""
    build = GraphBuilder(features=(4,))
    build.add(owner, "features", name="one")
    build.add(sharer, "one", name="two", shares="one")
    build.add(Output(units=3), "two")
    return build.conf(l2=0.01)


@pytest.mark.parametrize(
    "options",
    [
        {"rate_factor": 0.0},
        {"bias_rate_factor": 2.0},
        {"l2": 0.5},
        {"bias_l1": 0.1},
        {"optimizer": Adam()},
        {"constraints": [MaxNorm(limit=1.0)]},
    ],
    ids=lambda options: next(iter(options)),
)
def test_refuses_an_option_that_would_have_no_effect(options):
    [name] = options
    with pytest.raises(ConfigError, match=f"two.{name} must be that of 'one'.*got .*; give it"):
        towers(Dense(units=4), Dense(units=4, **options))


def test_takes_options_that_are_the_same_or_those_of_the_owner_alone():
    options = {"rate_factor": 0.5, "l2": 0.5, "constraints": [MaxNorm(limit=1.0)]}
    for sharer in (Dense(units=4), Dense(units=4, **options)):
        assert towers(Dense(units=4, **options), sharer).parameter_count == 35


def test_takes_frozen_layers_as_sharer_and_as_owner():
    assert towers(Dense(units=4), Frozen(layer=Dense(units=4))).parameter_count == 35
    slow = Dense(units=4, rate_factor=0.5)
    assert towers(Frozen(layer=slow), slow).parameter_count == 35
