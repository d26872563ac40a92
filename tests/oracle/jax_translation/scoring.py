"""The loss of each example: rows, sequences of steps, or images of positions."""

import jax.numpy as jnp

from tests.oracle.jax_translation import losses


def example_losses(layer, z, labels, mask=None, there=None):
    """Returns an output layer's losses (batch,), without its loss_weight.

    For a reduction of the batch, `there` (batch,) says which examples count.
    """
    loss = layer.loss
    if loss.type_name in losses.WHOLE:
        return losses.WHOLE[loss.type_name](loss, z, labels, mask)
    n = z.shape[0]
    z, y = units_behind(z), labels
    if labels.ndim == z.ndim:
        y = units_behind(labels)
        y = y.reshape(-1, y.shape[-1])
    else:
        y = labels.reshape(-1)
    each = losses.ROWS[loss.type_name](loss, z.reshape(-1, z.shape[-1]), y).reshape(n, -1)
    counts = counting(loss, y, each, mask, z.ndim == 2)
    if there is not None and layer.reduction in ("valid", "total"):
        counts = counts * there[:, None]
    return reduced(layer.reduction, z.ndim == 2, each, counts)


def counting(loss, labels, each, mask, rows):
    """Returns 1 for each element of `each` (batch, places) that counts."""
    counts = jnp.ones_like(each)
    if loss.type_name == "softmax_cross_entropy" and loss.ignore_label is not None:
        counts = counts * (labels != loss.ignore_label).reshape(each.shape)
    if loss.type_name in losses.DIFFERENCES and loss.ignore_label is not None:
        counts = counts * (labels != loss.ignore_label).any(-1).reshape(each.shape)
    return counts if mask is None or each.shape != mask.shape or rows else counts * mask


def reduced(reduction, rows, each, counts):
    """Reduces losses (batch, places), some of which count, to (batch,)."""
    n, places = each.shape
    total = (each * counts).sum(1)
    if reduction == "valid":
        return total * n / jnp.maximum(counts.sum(), 1)
    if reduction == "total":
        return total * n
    if reduction == "sum" or rows:
        return total
    if reduction == "full":
        return total / places
    return total / jnp.maximum(counts.sum(1), 1)


def units_behind(z):
    """Moves the units of images and volumes from the front to the last axis."""
    return jnp.moveaxis(z, 1, -1) if z.ndim > 3 else z


def predicted(layer, z):
    """Returns the prediction, in the shape of z."""
    y = losses.prediction(layer.loss, units_behind(z))
    return jnp.moveaxis(y, -1, 1) if z.ndim > 3 else y
