"""Layers with several inputs, and layers that change the batch size."""

from functools import reduce

import jax.numpy as jnp

from tests.oracle.jax_translation import scoring
from tests.oracle.jax_translation.seen import channel_axis, steps_there, translates

OPERATIONS = {
    "add": lambda xs: sum(xs),
    "subtract": lambda xs: xs[0] - sum(xs[1:]),
    "product": lambda xs: reduce(jnp.multiply, xs),
    "average": lambda xs: sum(xs) / len(xs),
    "max": lambda xs: reduce(jnp.maximum, xs),
}


@translates("Merge")
def merge(layer, seen):
    axis = channel_axis(seen.x)
    if layer.axis is not None:
        axis = 1 + layer.axis % (seen.x.ndim - 1)
    deepest = max((mask.ndim for mask in seen.masks if mask is not None), default=1)
    if axis < deepest < seen.x.ndim:
        pairs = zip(seen.xs, seen.masks, strict=True)
        ones = [steps_there(jnp.ones(x.shape[:deepest]), mask) for x, mask in pairs]
        seen.out_mask = jnp.concatenate(ones, axis)
    return jnp.concatenate(seen.xs, axis)


@translates("ElementWise")
def element_wise(layer, seen):
    xs = seen.xs
    if layer.coefficients is not None:
        xs = [c * x for c, x in zip(layer.coefficients, xs, strict=True)]
    return OPERATIONS[layer.operation](xs)


@translates("Broadcasting")
def broadcasting(layer, seen):
    x, w = seen.xs
    before = 0 if w.shape[1:] == (1,) or w.ndim == x.ndim else layer.axis
    behind = x.ndim - w.ndim - before
    w = w.reshape(len(w), *[1] * before, *w.shape[1:], *[1] * behind)
    if layer.operation == "mask":
        return jnp.where(w != 0, x, 0)
    return x + w if layer.operation == "add" else x * w


@translates("L2Distance")
def l2_distance(layer, seen):
    a, b = (x.reshape(len(x), -1) for x in seen.xs)
    return jnp.sqrt(((a - b) ** 2).sum(1, keepdims=True) + layer.epsilon)


@translates("DotInteraction")
def dot_interaction(layer, seen):
    pairs = [a * b for i, a in enumerate(seen.xs) for b in seen.xs[:i]]
    found = jnp.stack([pair.sum(1) for pair in pairs], 1)
    return found.sum(1, keepdims=True) if layer.combine == "sum" else found


@translates("MatMul")
def mat_mul(layer, seen):
    a = "n" + ("km" if layer.transpose_a else "mk")
    b = "n" + ("jk" if layer.transpose_b else "kj")
    seen.out_mask = seen.masks[0] if not layer.transpose_a and seen.x.ndim == 3 else None
    first, second = (x.reshape(-1, *x.shape[-2:]) for x in seen.xs)
    found = jnp.einsum(f"{a},{b}->nmj", first, second)
    return found.reshape(*seen.xs[0].shape[:-2], *found.shape[1:])


@translates("Stack")
def stack(layer, seen):
    seen.out_mask = None if seen.mask is None else jnp.concatenate(seen.masks)
    return jnp.concatenate(seen.xs)


@translates("Unstack")
def unstack(layer, seen):
    def part(x):
        return None if x is None else jnp.split(x, layer.count)[layer.index]

    seen.out_mask = part(seen.mask)
    return part(seen.x)


@translates("BatchReindex")
def batch_reindex(layer, seen):
    index = seen.xs[1].reshape(-1).astype(int)
    seen.out_mask = None if seen.mask is None else seen.mask[index]
    return seen.xs[0][index]


@translates("Comparison")
def comparison(layer, seen):
    """Computes the loss of input 1 against input 2; input 3 selects the examples that count."""
    z, y, *counts = seen.xs
    seen.out_mask = seen.mask
    kind, space = layer.loss.label_kind, z.shape[2:] if z.ndim > 3 else z.shape[1:-1]
    y = y.reshape(len(z), *space).astype(int) if kind == "class" else y.reshape(z.shape)
    there = (counts[0].reshape(-1) != 0) * 1.0 if counts else None
    each = scoring.example_losses(layer, z, y, seen.mask, there)
    if counts and layer.reduction not in ("valid", "total"):
        each = each * there * len(z) / jnp.maximum(there.sum(), 1)
    seen.losses.append(layer.loss_weight * each)
    return z
