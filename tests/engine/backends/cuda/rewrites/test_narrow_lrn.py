"""Local response normalization of 16-bit numbers drops the surrounding casts."""

import numpy as np
import pytest

from sparkdl.engine import compile, ops
from sparkdl.engine.dtypes import BFLOAT16
from tests.engine.backends.cuda.support import assert_same
from tests.engine.support import feeds, with_gradients

X = np.random.default_rng(0).normal(0, 2, (2, 16, 3, 4)).astype(BFLOAT16)


def normalized(x, kind=BFLOAT16):
    return ops.cast(ops.lrn(ops.cast(x, "float32"), 5, 0.1, 0.75, 2.0), kind)


def types(program):
    """Returns the dtypes that LRN and its gradient read."""
    nodes = [step.node for step in program.steps if step.op in ("Lrn", "LrnGrad")]
    assert len(nodes) == 2
    return {tensor.spec.dtype for node in nodes for tensor in node.inputs}


def test_casts_around_it_are_gone_and_the_bits_stay(monkeypatch):
    graph = with_gradients(lambda x: ops.relu(normalized(x)), X)
    program = assert_same(graph, [X], 2e-2, runs=2)
    assert types(program) == {BFLOAT16}
    found = {name: np.array(y) for name, y in program.run(feeds([X])).items()}
    monkeypatch.setattr("sparkdl.engine.backends.cuda.backend.narrow_lrn", lambda graph: graph)
    casts = compile(graph, "cuda")
    assert types(casts) == {"float32"}
    for name, y in casts.run(feeds([X])).items():
        assert np.array(y).tobytes() == found[name].tobytes()


@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_casts_to_another_type_stay(kind):
    graph = with_gradients(lambda x: normalized(x, kind), X)
    assert types(assert_same(graph, [X], 2e-2, runs=1)) == {"float32"}
