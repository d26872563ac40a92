"""Error messages of the normalization layers."""

import pytest

from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn.layers import LRN, GroupNorm, LayerNorm, RMSNorm
from tests.nn.support import label

OPTIONS = [
    (lambda: LayerNorm(axes=()), "axes must be an integer or a tuple of them or None, got ()"),
    (
        lambda: LayerNorm(axes="last"),
        "axes must be an integer or a tuple of them or None, got 'last'",
    ),
    (lambda: LayerNorm(epsilon=0), "LayerNorm.epsilon must be a number above 0, got 0"),
    (lambda: LayerNorm(scale=1), "LayerNorm.scale must be True or False, got 1"),
    (lambda: GroupNorm(groups=0), "GroupNorm.groups must be an integer >= 1, got 0"),
    (lambda: RMSNorm(epsilon=0), "RMSNorm.epsilon must be a number above 0, got 0"),
    (lambda: LRN(size=4), "LRN.size must be an odd integer >= 1, got 4"),
    (lambda: LRN(beta=0), "LRN.beta must be a number above 0, got 0"),
    (lambda: LRN(region="all"), "LRN.region must be 'across_channels' or 'within_channel', got"),
]

SHAPES = [
    (LayerNorm(axes=2), (3, 4), "LayerNorm along (2,) needs these axes, got (3, 4)"),
    (
        GroupNorm(groups=3),
        (4, 2),
        "GroupNorm of 3 groups needs a multiple of 3 channels, got (4, 2)",
    ),
    (RMSNorm(), (), "RMSNorm takes at least rows of features, got ()"),
    (LRN(), (3, 4), "LRN takes images (channels, height, width), got (3, 4)"),
]


@pytest.mark.parametrize("make, message", OPTIONS, ids=label)
def test_refuses_options(make, message):
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)


@pytest.mark.parametrize("layer, in_shape, message", SHAPES, ids=str)
def test_refuses_shapes(layer, in_shape, message):
    with pytest.raises(ShapeError) as caught:
        layer.out_shape(in_shape)
    assert message in str(caught.value)
