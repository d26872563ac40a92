"""What a wrapper has from the layer inside."""

import pytest

from sparkdl.nn.layers import AddedLoss, Frozen, TimeDistributed

FLAGS = "adds_loss", "has_joint_loss", "sums_batch"


@pytest.mark.parametrize("wrapper", [Frozen, TimeDistributed])
@pytest.mark.parametrize("mean", [True, False])
def test_a_wrapper_adds_to_the_loss_as_the_layer_inside_does(wrapper, mean):
    inside = AddedLoss(mean=mean)
    found = [getattr(wrapper(layer=inside), name) for name in FLAGS]
    assert found == [getattr(inside, name) for name in FLAGS] == [True, not mean, not mean]
