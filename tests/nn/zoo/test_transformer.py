"""The zoo's small transformer: its size, its causal mask, and that it learns."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.engine.backends import get
from sparkdl.nn import Adam, zoo
from sparkdl.nn.execution.replica import Replica

SMALL = {"symbols": 7, "steps": 12, "width": 16, "depth": 2, "heads": 2}


def texts(n, symbols=7, steps=12):
    """Returns sequences that count up from a random start, and the next symbols."""
    start = np.random.default_rng(0).integers(0, symbols, (n, 1))
    features = (start + np.arange(steps)) % symbols
    columns = {"features": features.astype(np.float32), "labels": (features + 1) % symbols}
    return Batch(columns=columns, ids=np.arange(n, dtype=np.uint64))


def predicted(replica, batch):
    return replica.forward(batch)["output"]


@pytest.mark.parametrize("symbols, steps, width, depth", [(65, 128, 256, 4), (7, 12, 16, 2)])
def test_has_the_parameters_of_its_formula(symbols, steps, width, depth):
    tables = (symbols + steps) * width
    block = 2 * 2 * width + 4 * (width**2 + width) + (8 * width**2 + 5 * width)
    output = 2 * width + width * symbols + symbols
    conf = zoo.transformer(symbols=symbols, steps=steps, width=width, depth=depth)
    assert conf.parameter_count == tables + depth * block + output


def test_no_symbol_sees_later_ones():
    replica, batch = Replica(zoo.transformer(**SMALL)), texts(3)
    before = predicted(replica, batch)
    batch.columns["features"][:, 8:] = 0
    after = predicted(replica, batch)
    np.testing.assert_array_equal(before[:, :8], after[:, :8])
    assert np.abs(before[:, 8:] - after[:, 8:]).max() > 1e-6


def norm(x, gamma, beta):
    centered = x - x.mean(-1, keepdims=True)
    return centered / jnp.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * gamma + beta


def in_jax(weights, indices, depth, heads):
    """Returns logits (n, steps, symbols), by jax's own attention."""

    def layer(name):
        return {n.rpartition("/")[2]: w for n, w in weights.items() if n.rpartition("/")[0] == name}

    def dense(x, name):
        return x @ layer(name)["W"] + layer(name)["b"]

    x = layer("symbols")["W"][indices] + layer("positions")["W"]
    for number in range(1, depth + 1):
        own = layer(f"block{number}/attention/1")
        y = norm(x, **layer(f"block{number}/attention/norm"))
        q, k, v = (
            (y @ own[f"W{n}"] + own[f"b{n}"]).reshape(*x.shape[:2], heads, -1) for n in "qkv"
        )
        y = jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape)
        x = x + y @ own["Wo"] + own["bo"]
        y = dense(norm(x, **layer(f"block{number}/dense/norm")), f"block{number}/dense/1")
        x = x + dense(jax.nn.gelu(y, approximate=False), f"block{number}/dense/2")
    return dense(norm(x, **layer("norm")), "output")


@pytest.mark.slow
def test_equals_the_same_network_in_jax():
    conf = zoo.transformer(**SMALL, initializer="xavier")
    replica, batch = Replica(conf), texts(3)
    weights = conf.params_layout.views(replica.params)
    network = jax.jit(partial(in_jax, depth=SMALL["depth"], heads=SMALL["heads"]))
    logits = network(weights, batch.features.astype(int))
    found = predicted(replica, batch)
    np.testing.assert_allclose(found, jax.nn.softmax(logits), rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_learns_to_count():
    conf = zoo.transformer(**SMALL, dropout=0.1, optimizer=Adam(learning_rate=0.01))
    replica, batch = Replica(conf), texts(16)
    for t in range(1, 41):
        replica.step(batch, 0.01, t)
    right = predicted(replica, batch).argmax(-1) == batch.labels
    assert right[:, 1:].mean() > 0.95


@pytest.mark.parametrize("backend", ["reference", "auto"])
def test_its_gradient_in_bfloat16_points_where_that_of_float32_does(backend):
    conf, batch = zoo.transformer(**SMALL, initializer="xavier"), texts(8)
    wide, narrow = Replica(conf, backend), Replica(replace(conf, dtype="bfloat16"), backend)
    losses = [replica.gradient(batch)[0] for replica in (wide, narrow)]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
    cosine = wide.grad @ narrow.grad / np.linalg.norm(wide.grad) / np.linalg.norm(narrow.grad)
    assert cosine > 0.99


@pytest.mark.skipif(get("auto").name != "onednn", reason="libdnnl is not here")
def test_all_products_of_a_step_are_onednn_s():
    """numpy runs only sums, additions and lookups; nothing is transposed or reordered."""
    lines = Replica(zoo.transformer(**SMALL | {"width": 32})).describe(4).splitlines()
    products = [line for line in lines if "MatMul" in line or "Head" in line]
    assert len(products) > 50
    assert not [line for line in products if "numpy" in line]
    assert not [line for line in lines if "Transpose" in line or "Relayout" in line]
