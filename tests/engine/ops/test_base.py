"""Contract of every operation. A new operation needs only a row in cases."""

from itertools import product

import jax
import ml_dtypes  # noqa: F401  # numpy knows bfloat16 by it
import numpy as np
import pytest

from sparkdl.engine import Graph, Spec, gradients, ops
from sparkdl.engine.gradient_check import check_gradients
from sparkdl.engine.ops import base
from tests.engine.cases import CASES
from tests.engine.support import run, tensors, trace
from tests.support.tables import first_of_each, for_all

SMOOTH = {name: case for name, case in CASES.items() if case.order}
FLAT = {name: case for name, case in CASES.items() if not case.order}
KNOWN = {name: case for name, case in CASES.items() if case.like}


def single(arrays):
    return [a.astype(np.float32) for a in arrays]


def test_every_registered_operation_has_a_row():
    assert {name.split()[0] for name in CASES} == set(ops.OPS)


def test_the_row_uses_the_operation_it_is_named_after():
    def check(name):
        case = CASES[name]
        graph = trace(case.op, *case.arrays)
        assert name.split()[0] in {node.op.kind for node in graph.nodes}

    for_all(CASES, check)


@pytest.mark.parametrize("name", first_of_each(SMOOTH))
def test_gradient_matches_central_differences(name):
    case = SMOOTH[name]
    check_gradients(case.op, *case.arrays, order=case.order)


@pytest.mark.parametrize("name", FLAT)
def test_an_operation_without_derivative_gives_zeros(name):
    case = FLAT[name]
    inputs = list(trace(case.op, *case.arrays).inputs.values())
    for grad in gradients(ops.sum(case.op(*inputs)), inputs):
        assert not np.any(grad.value)


@pytest.mark.parametrize("name", first_of_each(KNOWN))
def test_output_matches_an_independent_library(name, x64):
    case = KNOWN[name]
    expected = np.asarray(known(case))
    found = case.op(*case.arrays)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


def known(case):
    """Returns the other library's result; jax runs jitted, which halves the time."""
    try:
        return jax.jit(lambda *arrays: case.like(*arrays))(*case.arrays)
    except jax.errors.TracerArrayConversionError:  # for numpy and scipy
        return case.like(*case.arrays)


@pytest.mark.slow
def test_a_program_in_float32_agrees_with_the_call_on_arrays():
    def check(name):
        case = CASES[name]
        arrays = single(case.arrays)
        (found,) = run(case.op, *arrays)
        expected = case.op(*arrays)
        assert found.dtype == expected.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)
        exact = case.op(*(a.astype(np.float64) for a in arrays))
        np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-5)

    for_all(CASES, check)


@pytest.mark.slow
def test_nothing_in_a_float32_gradient_is_wider():
    def check(name):
        case = SMOOTH[name]
        inputs = tensors(**{f"x{i}": a for i, a in enumerate(single(case.arrays))})
        grads = gradients(ops.sum(case.op(*inputs.values())), list(inputs.values()))
        assert [g.shape for g in grads] == [t.shape for t in inputs.values()]
        graph = Graph(inputs, {f"g{i}": g for i, g in enumerate(grads)})
        types = {t.spec.dtype for node in graph.nodes for t in (*node.inputs, *node.outputs)}
        assert "float64" not in types

    for_all(SMOOTH, check)


@pytest.mark.parametrize("label", [-1, 3])
def test_the_cross_entropy_of_a_label_that_is_no_class_is_nan(label, rng):
    logits = rng.normal(size=(2, 3))
    losses = ops.softmax_cross_entropy(logits, np.array([1, label]))
    own = np.log(np.exp(logits[0]).sum()) - logits[0, 1]
    np.testing.assert_allclose(losses, [own, np.nan], rtol=1e-12)


TYPES = ["bool", "uint8", "int32", "int64", "bfloat16", "float16", "float32", "float64"]
FLOATS = TYPES[-4:]


@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_common_type_is_numpys_of_the_floats(length):
    for names in product(TYPES, repeat=length):
        if {"bfloat16", "float16"} <= {*names}:
            continue  # no common type
        chosen = [np.dtype(n) for n in names if n in FLOATS] or [np.dtype(n) for n in names]
        assert base.common_type(*(Spec((), n) for n in names)) == np.result_type(*chosen).name


def test_the_common_type_of_known_types_is_looked_up(monkeypatch):
    asked = []
    monkeypatch.setattr(base, "is_float", lambda dtype: asked.append(dtype) or True)
    base.common_name.cache_clear()
    for n in range(9):
        assert base.common_type(Spec((n,), "float32"), Spec((n, 2), "float64")) == "float64"
    base.common_name.cache_clear()
    assert len(asked) == 2
