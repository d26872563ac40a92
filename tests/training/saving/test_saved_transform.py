"""A model keeps the transform of its fit."""

import pytest

from sparkdl.errors import CheckpointError
from sparkdl.training.saving.saved_transform import transform_from_json, transform_to_json
from sparkdl.transforms import Compose, Mirror, Scale


@pytest.mark.parametrize("transform", [None, Scale(factor=0.5), Compose(Mirror(), Scale(factor=2))])
def test_it_comes_back(transform):
    assert transform_from_json("model", transform_to_json(transform)) == transform


def test_a_function_is_left_out_and_said_so(caplog):
    assert transform_to_json(abs) == {}
    assert "abs> is no member of sparkdl.transforms" in caplog.text


@pytest.mark.parametrize("found", [{"type": "Foreign"}, {"type": "Scale", "factor": "a"}, 3])
def test_one_that_is_not_known_here_is_refused(found):
    with pytest.raises(CheckpointError, match="^model: its transform cannot be made: "):
        transform_from_json("model", {"transform": found})
