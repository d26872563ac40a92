"""Layers that rearrange an example's numbers or pass them on."""

import jax
import jax.numpy as jnp

from tests.oracle.jax_translation.activations import activate
from tests.oracle.jax_translation.seen import channel_axis, steps_there, translates

REDUCTIONS = {
    "sum": lambda x: x.sum(-1),
    "asum": lambda x: jnp.abs(x).sum(-1),
    "sumsq": lambda x: (x**2).sum(-1),
    "mean": lambda x: x.mean(-1),
}


@translates("Activation")
def activation(layer, seen):
    return activate(layer.function, seen.x)


@translates("Flatten")
def flatten(layer, seen):
    return seen.x.reshape(len(seen.x), -1)


@translates("Reshape")
def reshape(layer, seen):
    y = seen.x.reshape(len(seen.x), *layer.shape)
    same = seen.mask is not None and y.ndim > 1 and y.shape[1] == seen.mask.shape[1]
    seen.out_mask = seen.mask if same else None
    if same and seen.mask.ndim == 3 and y.shape[1:3] != seen.mask.shape[1:]:
        seen.out_mask = seen.mask.max(2)
    return y


@translates("Permute")
def permute(layer, seen):
    seen.out_mask = seen.mask if layer.order[0] == 0 else None
    if seen.out_mask is not None and seen.mask.ndim == 3 and layer.order[:2] != (0, 1):
        seen.out_mask = seen.mask.max(2)
    return seen.x.transpose(0, *(1 + axis for axis in layer.order))


@translates("RepeatVector")
def repeat_vector(layer, seen):
    return jnp.repeat(seen.x[:, None], layer.count, 1)


@translates("Subset")
def subset(layer, seen):
    axis = channel_axis(seen.x) if layer.axis is None else 1 + layer.axis
    if axis == 1 and seen.x.ndim == 3 and seen.mask is not None:
        seen.out_mask = seen.mask[:, layer.start : layer.stop]
    return jnp.take(seen.x, jnp.arange(layer.start, layer.stop), axis)


@translates("Reduce")
def reduction(layer, seen):
    x = seen.x
    lead = x.shape[: 1 + layer.axis]
    y = layer.coefficient * REDUCTIONS[layer.operation](x.reshape(*lead, -1))
    return y if layer.axis else y[:, None]


@translates("StopGradient")
def stop_gradient(layer, seen):
    return jax.lax.stop_gradient(seen.x)


@translates("AddedLoss")
def added_loss(layer, seen):
    """A batch's loss is the mean over examples, so a sum is n times as large."""
    x = steps_there(seen.x, seen.mask)
    each = layer.weight * x.reshape(len(x), -1).sum(1)
    seen.losses.append(each if layer.mean else each * len(x))
    return seen.x
