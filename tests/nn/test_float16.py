"""Networks in float16: loss scaling as in PyTorch's GradScaler."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.engine.backends import base
from sparkdl.errors import DivergedError
from sparkdl.nn import (
    Adam,
    ClipNorm,
    Dense,
    GlobalPool,
    MaxPool1D,
    NetworkConf,
    Output,
    SelfAttention,
    Sgd,
)
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.optimization import loss_scale
from tests.nn import torch_float16
from tests.nn.networks.test_graph import batch_of
from tests.nn.test_bfloat16 import mixed
from tests.support.cuda.on_host import require_compiler

BACKENDS = ["reference", "auto", pytest.param("cuda", marks=pytest.mark.slow)]
MLP = NetworkConf(
    input_shape=(6,), layers=[Dense(units=8, activation="tanh"), Output(units=3)], dtype="float16"
)
# printed by torch_float16.py with PyTorch 2.15: logarithms of scales, and losses
SCALES = {
    "Sgd": [15, 14, 13, 12, 11, 10, 10, 10, 11, 11, 11, 12, 11, 10, 10, 10, 11, 11, 11, 12],
    "Adam": [15, 14, 13, 12, 11, 10, 10, 10, 11, 10, 10, 10, 11, 10, 10, 10, 11, 11, 11, 12],
}
LOSSES = {
    "Sgd": [1.4073] * 7
    + [1.2583, 1.1378, 1.0480, 0.9809, 0.9260, 0.8752, 0.8752, 0.8752, 0.8272, 0.7891, 0.7605]
    + [0.7353, 0.7118],
    "Adam": [1.4073] * 7
    + [1.3420, 1.2811, 1.2241, 1.2241, 1.1704, 1.1204, 1.0740, 1.0740, 1.0314, 0.9927, 0.9573]
    + [0.9254, 0.8973],
}
OPTIMIZERS = {"Sgd": (Sgd(), 1e-5), "Adam": (Adam(), 1e-4)}


@pytest.fixture(autouse=True)
def cuda(request, monkeypatch):
    if "cuda" in request.node.name:
        require_compiler()
    monkeypatch.setitem(base.MODULES, "cuda", "tests.support.cuda.backend")


def state_of(replica):
    """Returns (scale, updates since it changed, skipped updates)."""
    conf = replica.conf
    views = conf.buffers_layout.views(replica.buffers) | conf.slots_layout.views(replica.slots)
    names = loss_scale.SCALE, loss_scale.GOOD, loss_scale.SKIPPED
    return [float(views[name]) for name in names]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_pytorchs(name, backend, monkeypatch):
    """Covers overflowing and finite gradients, and growth of the scale in between."""
    monkeypatch.setattr(loss_scale, "INTERVAL", torch_float16.INTERVAL)
    optimizer, rate = OPTIMIZERS[name]
    replica = Replica(replace(MLP, optimizer=optimizer), backend)
    params, features, labels = torch_float16.numbers()
    replica.params = replica.conf.params_layout.vector(params)
    batch, losses, scales = Batch.of(features, labels), [], []
    for t in range(1, torch_float16.STEPS + 1):
        losses.append(float(replica.step(batch, rate, t)) / len(batch))
        scales.append(np.log2(state_of(replica)[0]))
    assert scales == SCALES[name]
    np.testing.assert_allclose(losses, LOSSES[name], 1e-3)
    falls = [b < a for a, b in zip([16, *scales], scales, strict=False)]
    assert replica.left_out == state_of(replica)[2] == sum(falls)


@pytest.mark.parametrize("wrong", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_update_that_is_left_out_changes_nothing_but_the_scale(backend, wrong, rng):
    """The next update is unaffected too: the optimizer does not count the skipped one."""
    conf = replace(mixed(), dtype="float16", optimizer=Adam(), l2=0.1, clipping=ClipNorm(limit=1.0))
    one, other = Replica(conf, backend), Replica(conf, backend)
    for t in (1, 2):
        batch = batch_of(conf, rng)
        for replica in (one, other):
            replica.step(batch, 0.1, t)
    before = one.params.copy(), one.slots[:-1].copy()
    one.grad[3] = wrong
    one.apply(0.1, 3)
    np.testing.assert_array_equal(one.params, before[0])
    np.testing.assert_array_equal(one.slots[:-1], before[1])
    assert (state_of(one), one.left_out) == ([2.0**15, 0, 1], 1)
    other.buffers = one.buffers
    batch = batch_of(conf, rng)
    one.step(batch, 0.1, 4)
    other.step(batch, 0.1, 3)
    np.testing.assert_array_equal(one.params, other.params)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_scale_doubles_after_two_thousand_updates(backend):
    replica = Replica(MLP, backend)
    replica.conf.buffers_layout.views(replica.buffers)[loss_scale.GOOD][...] = 1998
    states = []
    for t in range(1, 4):
        replica.apply(0.1, t)
        states.append(state_of(replica)[:2])
    assert states == [[2.0**16, 1999], [2.0**17, 0], [2.0**17, 1]]


@pytest.mark.parametrize("good, number", [(1999, 1.0), (7, 1.0), (7, np.inf)])
def test_the_scale_follows_where_others_update(good, number):
    one, other = Replica(MLP), Replica(MLP)
    for replica in (one, other):
        replica.conf.buffers_layout.views(replica.buffers)[loss_scale.GOOD][...] = good
        replica.grad[0] = number
    one.rescale()
    other.apply(0.1, 1)
    assert state_of(one)[:2] == state_of(other)[:2] and one.left_out == other.left_out
    np.testing.assert_array_equal(one.params, Replica(MLP).params)


def test_a_scale_below_one_is_told():
    replica = Replica(MLP)
    scale = replica.conf.buffers_layout.views(replica.buffers)[loss_scale.SCALE]
    for value in (1.0, 0.5, np.nan):
        scale[...] = value
        if value == 1:
            loss_scale.check_scale(MLP, replica.buffers)
        else:
            with pytest.raises(DivergedError, match=f"loss scale has fallen to {value}: lower"):
                loss_scale.check_scale(MLP, replica.buffers)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_gradient_is_that_of_float32(backend, rng):
    batch = batch_of(mixed(), rng, 16)
    wide, narrow = Replica(mixed(), backend), Replica(replace(mixed(), dtype="float16"), backend)
    losses = [float(replica.gradient(batch)[0]) for replica in (wide, narrow)]
    assert losses[1] == pytest.approx(losses[0], rel=2e-3)
    cosine = wide.grad @ narrow.grad / np.linalg.norm(wide.grad) / np.linalg.norm(narrow.grad)
    assert cosine > 0.9999
    assert narrow.grad.dtype == narrow.params.dtype == np.float32


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_masks_hide_is_hidden(backend, causal, rng):
    """float16 ends at 65504, so the masking value must fit into it."""
    layers = [
        SelfAttention(heads=2, causal=causal),
        MaxPool1D(size=2, stride=2),
        GlobalPool(kind="max"),
        Output(units=3),
    ]
    conf = NetworkConf(input_shape=(5, 4), layers=layers)
    x = rng.standard_normal((3, 5, 4)).astype(np.float32)
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0]], np.float32)
    columns = {"features": x, "labels": rng.integers(0, 3, 3), "mask": mask}
    batch, grads = Batch(columns=columns, ids=np.arange(3, dtype=np.uint64)), []
    for dtype in ("float32", "float16"):
        replica = Replica(replace(conf, dtype=dtype), backend)
        replica.gradient(batch)
        grads.append(replica.grad.copy())
    np.testing.assert_allclose(grads[1], grads[0], 0, 5e-3 * np.abs(grads[0]).max())
