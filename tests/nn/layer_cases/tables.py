"""Layers that look up rows of a table, and their jax equivalents."""

import jax.numpy as jnp

from sparkdl.nn import layers
from tests.nn.jax_activations import THEIRS as ACTIVATED

LAYERS = [
    (layers.Embedding(vocabulary_size=4, units=3), (1,)),
    (layers.Embedding(vocabulary_size=4, units=3, bias=True, activation="tanh"), ()),
    (layers.EmbeddingSequence(vocabulary_size=5, units=3), (4,)),
    (layers.EmbeddingSequence(vocabulary_size=5, units=2, padding_id=0, bias=True), (4, 1)),
]


def embedding(layer, params, x, buffers, training):
    shape = x.shape[:1] if layer.type_name == "Embedding" else x.shape[:2]
    y = jnp.asarray(params["W"])[x.astype(int).reshape(shape)] + params.get("b", 0)
    return y if layer.activation is None else ACTIVATED[layer.activation.type_name](None, y)


THEIRS = {"Embedding": embedding, "EmbeddingSequence": embedding}
