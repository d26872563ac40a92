"""Fully connected layers and embedding tables."""

import jax.numpy as jnp

from tests.oracle.jax_translation.activations import activate
from tests.oracle.jax_translation.seen import translates


def affine(params, x, w="W", b="b"):
    """Computes x W + b along the last axis."""
    y = jnp.tensordot(x, params[w], 1)
    return y + params[b] if b in params else y


@translates("Dense", "AutoEncoder")
def dense(layer, seen):
    return activate(layer.activation, affine(seen.params, seen.x))


@translates("DenseTranspose")
def dense_transpose(layer, seen):
    return activate(layer.activation, affine(seen.params | {"W": seen.params["W"].T}, seen.x))


@translates("Output", "RnnOutput")
def output(layer, seen):
    return affine(seen.params, seen.x)


@translates("LossLayer")
def loss_layer(layer, seen):
    return seen.x


@translates("CenterLossOutput")
def center_loss_output(layer, seen):
    """Wen et al., eq. 2 to 4: centers get no gradient, and move toward their class."""
    if seen.training and seen.labels is not None:
        centers, y = seen.buffers["centers"], seen.labels
        hot = jnp.eye(layer.units)[y] if layer.loss.label_kind == "class" else y
        away = seen.x - hot @ centers
        seen.losses.append(layer.center_weight / 2 * (away**2).sum(1))
        pull = (hot.T @ away) / (1 + hot.sum(0))[:, None]
        seen.new_buffers["centers"] = centers + layer.center_rate * pull
    return affine(seen.params, seen.x)


@translates("VariationalAutoencoder")
def variational_auto_encoder(layer, seen):
    """Returns the mean of z."""
    x = seen.x
    for i in range(len(layer.encoder)):
        x = activate(layer.activation, affine(seen.params, x, f"encoder_{i}_W", f"encoder_{i}_b"))
    return activate(layer.latent_activation, affine(seen.params, x, "mean_W", "mean_b"))


@translates("Embedding")
def embedding(layer, seen):
    return rows_of(layer, seen, seen.x.reshape(len(seen.x)))


@translates("EmbeddingSequence")
def embedding_sequence(layer, seen):
    index = seen.x.reshape(seen.x.shape[:2])
    seen.out_mask = seen.mask
    if layer.padding_id is not None:
        there = (jnp.trunc(index) != layer.padding_id) * 1.0
        seen.out_mask = there if seen.mask is None else there * seen.mask
    return rows_of(layer, seen, index)


def rows_of(layer, seen, index):
    y = seen.params["W"][jnp.trunc(index).astype(int)]
    return activate(layer.activation, y + seen.params["b"] if "b" in seen.params else y)


@translates("Learned")
def learned(layer, seen):
    w = seen.params["W"]
    return jnp.broadcast_to(w, (len(seen.x), *w.shape))
