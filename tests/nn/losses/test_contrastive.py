"""Siamese branches with shared weights, trained by the contrastive loss of their distance."""

import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.nn import Adam, Dense, GraphConf, L2Distance, LossLayer, Vertex, forward
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.losses import Contrastive


def siamese():
    vertices = [
        Vertex(name="left", layer=Dense(units=4, activation="tanh"), inputs="a"),
        Vertex(name="right", layer=Dense(units=4, activation="tanh"), inputs="b", shares="left"),
        Vertex(name="apart", layer=L2Distance(), inputs=("left", "right")),
        Vertex(name="loss", layer=LossLayer(loss=Contrastive(margin=2.0)), inputs="apart"),
    ]
    return GraphConf(
        inputs={"a": (3,), "b": (3,)}, vertices=vertices, optimizer=Adam(learning_rate=0.05)
    )


def test_pairs_that_are_alike_come_near_and_others_part(rng):
    conf = siamese()
    kinds = rng.integers(0, 2, (2, 40))
    noise = 0.1 * rng.normal(size=(2, 40, 3))
    a, b = (noise + np.array([[1.0, 0, 1], [0, 1, 1]])[kinds]).astype(np.float32)
    alike = (kinds[0] == kinds[1]).astype(np.float32)[:, None]
    batch = Batch(columns={"a": a, "b": b, "labels": alike}, ids=np.arange(40, dtype=np.uint64))
    replica = Replica(conf)
    losses = [replica.step(batch, 0.05, t + 1) for t in range(60)]
    assert losses[-1] < 0.1 * losses[0]
    params, buffers = replica.arrays()
    apart = forward(conf, params, buffers, {"a": a, "b": b}).logits
    assert apart[alike == 1].max() < apart[alike == 0].min()
    by_hand = alike * apart**2 + (1 - alike) * np.maximum(2 - apart, 0) ** 2
    assert replica.gradient(batch)[0] == pytest.approx(by_hand.sum() / 2, rel=1e-4)
