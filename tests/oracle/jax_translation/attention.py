"""Attention, Vaswani et al., sections 3.2 and 3.5, one head at a time."""

import jax
import jax.numpy as jnp
import numpy as np

from tests.oracle.jax_translation.connected import affine
from tests.oracle.jax_translation.seen import translates

NOWHERE = -1e30  # finite, so that a fully masked step gives numbers


def projected(params, name, x):
    return affine(params, x, f"W{name}", f"b{name}") if f"W{name}" in params else x


def attend(layer, params, queries, keys, values, mask):
    inputs = zip("qkv", (queries, keys, values), strict=True)
    q, k, v = (jnp.split(projected(params, n, x), layer.heads, -1) for n, x in inputs)
    hidden = jnp.zeros((1, queries.shape[1], keys.shape[1]), bool)
    if layer.causal:
        hidden = ~jnp.tri(queries.shape[1], keys.shape[1], dtype=bool)[None]
    if mask is not None:
        hidden = hidden | (mask == 0)[:, None, :]
    heads = [head(*parts, hidden) for parts in zip(q, k, v, strict=True)]
    return projected(params, "o", jnp.concatenate(heads, -1))


def head(q, k, v, hidden):
    scores = jnp.einsum("ntd,nsd->nts", q, k) / np.sqrt(q.shape[-1])
    weights = jax.nn.softmax(jnp.where(hidden, NOWHERE, scores), -1)
    return jnp.where(hidden, 0, weights) @ v


@translates("SelfAttention")
def self_attention(layer, seen):
    return attend(layer, seen.params, seen.x, seen.x, seen.x, seen.mask)


@translates("LearnedSelfAttention")
def learned_self_attention(layer, seen):
    queries = jnp.stack([seen.params["Q"]] * len(seen.x))
    seen.out_mask = None
    return attend(layer, seen.params, queries, seen.x, seen.x, seen.mask)


@translates("MultiHeadAttention")
def multi_head_attention(layer, seen):
    """Takes queries, keys and values; a missing one defaults to the last input."""
    queries, keys, values = (*seen.xs, *[seen.xs[-1]] * (3 - len(seen.xs)))
    mask = (*seen.masks, seen.masks[-1])[1]
    seen.out_mask = seen.masks[0]
    return attend(layer, seen.params, queries, keys, values, mask)


@translates("PositionalEncoding")
def positional_encoding(layer, seen):
    steps, features = seen.x.shape[1:]
    t, i = np.mgrid[:steps, :features]
    angle = t / layer.period ** (2 * (i // 2) / features)
    return seen.x + np.where(i % 2, np.cos(angle), np.sin(angle))


@translates("PositionEmbedding")
def position_embedding(layer, seen):
    return seen.x + seen.params["W"][: seen.x.shape[1]]
