"""When the compiled LSTM is used, and its weights."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from sparkdl.engine import compile, ops
from sparkdl.engine.backends import get
from sparkdl.engine.backends.onednn.lowerings import compiled_lstm
from sparkdl.engine.native.jit import find_compiler
from tests.engine.support import trace
from tests.support.processor import AVX512

pytestmark = pytest.mark.skipif(
    get("auto").name != "onednn" or find_compiler() is None,
    reason="libdnnl or llvmlite is not here",
)
N, STEPS, FEATURES, UNITS = 24, 5, 20, 32
needs_compiled = pytest.mark.skipif(AVX512, reason="oneDNN's kernels are faster")


def build(n=N, units=UNITS, function=ops.lstm, constants=True, **options):
    """Returns (program, feeds, its weights)."""
    rng = np.random.default_rng(0)
    gates = 4 * units
    shapes = [(n, STEPS, FEATURES), (FEATURES, gates), (units, gates), (gates,)]
    x, *weights, h, c = (
        rng.standard_normal(s, np.float32) / 3 for s in (*shapes, (n, units), (n, units))
    )

    def all_outputs(*arrays):
        outputs = function(*arrays, **options)
        return ops.concat([ops.reshape(y, (-1,)) for y in outputs])

    graph = trace(all_outputs, x, *weights, h, c)
    bindings = {f"x{i}": w for i, w in enumerate(weights, 1)}
    program = compile(graph, "onednn", bindings, constant_bindings=constants)
    return program, {"x0": x, "x4": h, "x5": c}, weights


def is_compiled(program):
    return compiled_lstm.NAME in [step.kernel for step in program.steps]


def expected(feeds, weights, **options):
    arrays = feeds["x0"], *weights, feeds["x4"], feeds["x5"]
    outputs = ops.lstm(*(a.astype(np.float64) for a in arrays), **options)
    return np.concatenate([y.ravel() for y in outputs[:3]])


@needs_compiled
@pytest.mark.parametrize("backwards", [False, True])
def test_predictions_and_new_weights(backwards):
    with threadpool_limits(2):
        program, feeds, weights = build(backwards=backwards)
        assert is_compiled(program), program.describe()
        for _ in range(2):
            y = program.run(feeds)["y0"]
            right = expected(feeds, weights, backwards=backwards)
            np.testing.assert_allclose(y, right, rtol=0, atol=1e-5)
            for w in weights:
                w *= -1.5
            program.refresh()


UNFIT = {
    "few sequences": {"n": 3},
    "units that fill no register": {"units": 24},
    "weights that change": {"constants": False},
    "hard gates": {"slope": 0.2},
}


@pytest.mark.parametrize("options", UNFIT.values(), ids=UNFIT)
def test_others_stay_with_onednn(options):
    program, _, _ = build(**options)
    assert not is_compiled(program)


def test_without_a_thread_pool(monkeypatch):
    monkeypatch.setattr(compiled_lstm, "pool", lambda: None)
    assert not is_compiled(build()[0])
