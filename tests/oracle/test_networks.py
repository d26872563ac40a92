"""Random networks give the same results on oneDNN as in float64."""

import os
from functools import lru_cache

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn.activations import ActivationFunction
from sparkdl.nn.layers import Layer
from sparkdl.nn.losses import Loss
from sparkdl.nn.optimizers import Optimizer
from tests.nn import examples
from tests.oracle import drawing, graphs, outputs, plain_layers
from tests.oracle.case import Case
from tests.oracle.choices import Seeded, Shrinking
from tests.oracle.networks import case
from tests.oracle.outcomes import judged
from tests.oracle.reduction import reduced
from tests.oracle.regressions import REFUSED, REGRESSIONS
from tests.oracle.regressions import case as kept_case

EXAMPLES = 200
SHRINKING = 60.0  # seconds
OUTPUTS = {"Output", "RnnOutput", "LossLayer", "CenterLossOutput"}
WITH_STACK = {"Unstack"}
NOT_DRAWN = {"GainComparison"}  # its third input is a matrix; see tests/interop/caffe


@st.composite
def cases(draw):
    try:
        return case(Shrinking(draw))
    except (ConfigError, ShapeError):
        assume(False)


@pytest.mark.slow
@settings(
    max_examples=EXAMPLES,
    derandomize=os.environ.get("CI") == "true",
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # `reduced` shrinks faster
    suppress_health_check=[*HealthCheck],
)
@given(cases())
def test_backends_agree(case):
    check(case)


@pytest.mark.parametrize("name", REGRESSIONS)
def test_kept_case(name):
    check(REGRESSIONS[name])


@pytest.mark.parametrize("shape, layer", REFUSED.values(), ids=list(REFUSED))
def test_kept_case_is_refused(shape, layer):
    with pytest.raises(ShapeError, match="take a smaller padding or dilation"):
        kept_case(shape, layer)


def check(case):
    told = failure(case)
    assert not told, told


@lru_cache(maxsize=64)
def failure(case):
    """Returns the smallest case that fails likewise, to paste into a test; "" if it passes."""
    outcome = judged(case)
    if not outcome.failed:
        return ""
    smaller = reduced(outcome, SHRINKING)
    return f"{Case.from_dict(smaller.case)!r}\n{smaller.told}"


def test_every_layer_can_be_drawn():
    drawn = {*drawing.DRAWN, *plain_layers.INDEXED, *graphs.JOINS, *OUTPUTS, *WITH_STACK}
    ours = {n for n, c in Layer.members.items() if c.__module__.startswith("sparkdl.")}
    assert ours - NOT_DRAWN <= drawn


@pytest.mark.parametrize(
    "family, drawn",
    [
        (Loss, outputs.DRAWN),
        (Optimizer, {member.type_name for member in examples.OPTIMIZERS}),
        (ActivationFunction, {member.type_name for member in examples.ACTIVATIONS}),
    ],
)
def test_every_member_can_be_drawn(family, drawn):
    ours = {n for n, c in family.members.items() if c.__module__.startswith("sparkdl.")}
    assert ours <= set(drawn)


@pytest.mark.parametrize("seed", range(20))
def test_case_comes_back_from_json(seed):
    try:
        drawn = case(Seeded(seed))
    except (ConfigError, ShapeError):
        pytest.skip("the package refuses what was drawn")
    assert Case.from_json(drawn.to_json()) == drawn
