"""Gradients without a oneDNN kernel are composed of simpler ones: the same numbers."""

import numpy as np
import pytest

from sparkdl.engine import compile, ops
from sparkdl.engine.backends import get
from sparkdl.engine.backends.onednn.rewrites import slow_gradients
from tests.engine.support import compare, with_gradients

pytestmark = pytest.mark.skipif(get("auto").name != "onednn", reason="libdnnl is not here")

FUNCTIONS = {
    "softmax": (ops.softmax, (3, 4, 20)),
    "log_softmax": (ops.log_softmax, (6, 20)),
    "lrn across channels": (lambda x: ops.lrn(x, 5, alpha=0.5), (2, 16, 6, 5)),
    "lrn within": (lambda x: ops.lrn(x, 3, within=True), (2, 16, 6, 5)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_no_kernel_is_for_is_taken_apart(name, monkeypatch):
    function, shape = FUNCTIONS[name]
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    monkeypatch.setattr(slow_gradients, "has_kernel", lambda *_: False)
    graph = with_gradients(function, x)
    steps = compile(graph, "onednn").steps
    assert not [step for step in steps if "SoftmaxGrad" in step.op or "LrnGrad" in step.op]
    assert not [step for step in steps if step.scope == "grad" and "numpy" in step.kernel]
    compare(graph, [x], 1e-4, 5e-5)
