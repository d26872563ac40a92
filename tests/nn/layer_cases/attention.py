"""Attention written out in jax, one head at a time."""

import jax
import jax.numpy as jnp
import numpy as np

from sparkdl.engine import ops
from sparkdl.nn import layers
from tests.nn.layer_cases.place import EPOCH, IDS, SEED, STREAM

LAYERS = [
    (layers.SelfAttention(), (4, 3)),
    (layers.SelfAttention(heads=2, causal=True), (5, 4)),
    (layers.SelfAttention(heads=2, head_size=3, units=5, bias=False), (4, 2)),
    (layers.SelfAttention(heads=2, dropout=0.3, causal=True), (5, 4)),
    (layers.SelfAttention(project=False), (4, 3)),
    (layers.LearnedSelfAttention(queries=2, heads=3, head_size=2), (4, 5)),
    (layers.LearnedSelfAttention(queries=3, project=False), (4, 2)),
    (layers.MultiHeadAttention(heads=2), ((4, 6), (5, 3))),
    (layers.MultiHeadAttention(heads=2, head_size=2, units=3), ((4, 5), (3, 2), (3, 4))),
    (layers.MultiHeadAttention(heads=2, causal=True, dropout=0.5), ((4, 2), (4, 3), (4, 1))),
    (layers.MultiHeadAttention(heads=2), ((4, 4),)),
    (layers.PositionalEncoding(), (5, 4)),
    (layers.PositionalEncoding(period=50.0), (4, 3)),
    (layers.PositionEmbedding(), (4, 3)),
    (layers.PositionEmbedding(steps=6, initializer="zeros"), (4, 3)),
]


def attend(layer, params, q, k, v, training):
    q, k, v = (projected(params, name, x) for name, x in zip("qkv", (q, k, v)))
    split = [jnp.split(x, layer.heads, -1) for x in (q, k, v)]
    kept = kept_share(layer, q.shape[1], k.shape[1]) if training else [1] * layer.heads
    heads = [head(layer.causal, *parts) for parts in zip(*split, kept)]
    return projected(params, "o", jnp.concatenate(heads, -1))


def projected(params, name, x):
    return x @ params[f"W{name}"] + params.get(f"b{name}", 0) if f"W{name}" in params else x


def head(causal, q, k, v, kept):
    scores = jnp.einsum("ntd,nsd->nts", q, k) / np.sqrt(q.shape[-1])
    if causal:
        scores = jnp.where(np.tri(q.shape[1], dtype=bool), scores, -jnp.inf)
    return jnp.einsum("nts,nsd->ntd", jax.nn.softmax(scores) * kept, v)


def kept_share(layer, steps, keys):
    """Returns dropout's scale for each head's attention map, (batch, steps, keys) each."""
    numbers = ops.uniform(IDS, EPOCH, (layer.heads, steps, keys), SEED, STREAM)
    return np.moveaxis((numbers >= np.float32(layer.dropout)) / (1 - layer.dropout), 1, 0)


def self_attention(layer, params, x, buffers, training):
    return attend(layer, params, x, x, x, training)


def learned(layer, params, x, buffers, training):
    queries = jnp.stack([params["Q"]] * len(x))
    return attend(layer, params, queries, x, x, training)


def multi_head(layer, params, x, buffers, training):
    queries, keys, values = (*x, *[x[-1]] * (3 - len(x)))
    return attend(layer, params, queries, keys, values, training)


def sines(layer, params, x, buffers, training):
    _, steps, features = x.shape
    waves = np.zeros((steps, features))
    for t, i in np.ndindex(steps, features):
        angle = t / layer.period ** (2 * (i // 2) / features)
        waves[t, i] = np.cos(angle) if i % 2 else np.sin(angle)
    return x + waves


THEIRS = {
    "SelfAttention": self_attention,
    "LearnedSelfAttention": learned,
    "MultiHeadAttention": multi_head,
    "PositionalEncoding": sines,
    "PositionEmbedding": lambda layer, params, x, buffers, training: x + params["W"][: x.shape[1]],
}
