"""The node tests of the onnx package: each gives its numbers, or is refused by name."""

import numpy as np
import pytest
from onnx.backend.test.loader import load_model_tests

from sparkdl.errors import ConfigError, DataError, UnsupportedError
from sparkdl.interop.onnx import read_onnx
from tests.interop.onnx.models import saved


def is_right(case, path):
    """Returns whether the numbers of a case are its own; raises what reading it raises."""
    net = read_onnx(path)
    (x, *_), (y, *_) = case.data_sets[0]
    (ours,) = net.run(np.asarray(x)).values()
    alike = ours.shape == y.shape
    return alike and np.allclose(ours, y, rtol=case.rtol, atol=max(case.atol, 1e-6))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_no_node_gives_other_numbers(tmp_path):
    right, wrong = [], []
    for case in load_model_tests(kind="node"):
        try:
            (right if is_right(case, saved(case.model, tmp_path)) else wrong).append(case.name)
        except (ConfigError, DataError, UnsupportedError):
            continue
    assert not wrong
    assert len(right) >= 44
