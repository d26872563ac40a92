"""Gradient clipping against optax, on arrays and as a graph."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn.clipping import (
    ClipArrayNorm,
    ClipLayerNorm,
    ClipNorm,
    Clipping,
    ClipValue,
    UnitArrayNorm,
    UnitLayerNorm,
)
from sparkdl.nn.layout import Layout
from tests.nn.support import run_as_graph

LAYOUT = Layout((("a/W", (4, 3)), ("a/b", (3,)), ("c/W", (5,))))


def by_value(limit, grad):
    return optax.clip(limit).update(grad, None)[0]


def by_norm(limit, grad):
    return optax.clip_by_global_norm(limit).update(grad, optax.EmptyState())[0]


def by_layer_norm(limit, grad):
    return jnp.concatenate([by_norm(limit, grad[s]) for s in LAYOUT.split_by_layer.values()])


def by_array_norm(limit, grad):
    return jnp.concatenate([by_norm(limit, grad[s]) for s in LAYOUT.slices.values()])


THEIRS = {
    ClipValue: by_value,
    ClipNorm: by_norm,
    ClipLayerNorm: by_layer_norm,
    ClipArrayNorm: by_array_norm,
}
SCALED = {UnitLayerNorm: LAYOUT.split_by_layer, UnitArrayNorm: LAYOUT.slices}
kinds = pytest.mark.parametrize("kind", THEIRS, ids=lambda kind: kind.__name__)


def test_every_way_to_clip_is_compared():
    assert {*THEIRS, *SCALED} == set(Clipping.members.values())


@pytest.mark.parametrize("kind", SCALED, ids=lambda kind: kind.__name__)
def test_every_part_gets_a_norm_of_one(kind, rng, x64):
    grad = rng.normal(size=LAYOUT.size)
    grad[LAYOUT.slices["c/W"]] = 0
    ours = kind().clip(grad, LAYOUT)
    for part in SCALED[kind].values():
        zeros = not grad[part].any()
        expected = optax.projections.projection_l2_sphere(jnp.asarray(grad[part]))
        np.testing.assert_allclose(ours[part], grad[part] if zeros else expected, rtol=1e-9)
    (graph,) = run_as_graph(lambda g: [kind().clip(g, LAYOUT)], grad)
    np.testing.assert_allclose(graph, ours, rtol=1e-12)


@kinds
@pytest.mark.parametrize("limit", [0.1, 3.0, 100.0])
def test_equals_optax(kind, limit, rng, x64):
    grad = rng.normal(size=LAYOUT.size) * 2
    ours = kind(limit=limit).clip(grad, LAYOUT)
    np.testing.assert_allclose(ours, THEIRS[kind](limit, jnp.asarray(grad)), rtol=1e-9)
    (graph,) = run_as_graph(lambda g: [kind(limit=limit).clip(g, LAYOUT)], grad)
    np.testing.assert_allclose(graph, ours, rtol=1e-12)


@kinds
def test_small_gradients_stay_as_they_are(kind, rng):
    grad = rng.normal(size=LAYOUT.size).astype(np.float32)
    clipped = kind(limit=100).clip(grad, LAYOUT)
    assert clipped.dtype == np.float32
    np.testing.assert_array_equal(clipped, grad)


@kinds
def test_zeros_stay_zeros(kind):
    np.testing.assert_array_equal(kind(limit=1).clip(np.zeros(LAYOUT.size), LAYOUT), 0)


@kinds
@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf"), "1", True])
def test_refuses_limits(kind, limit):
    with pytest.raises(ConfigError, match=f"{kind.__name__}.limit must be a number above 0, got"):
        kind(limit=limit)
