"""Layers around another layer."""

import jax

from tests.oracle.jax_translation.seen import translate, translates


@translates("Frozen")
def frozen(layer, seen):
    """As in use, whatever the network does; its parameters have no gradient."""
    fixed = {name: jax.lax.stop_gradient(value) for name, value in seen.params.items()}
    inner = seen.inside(params=fixed, training=False)
    y, seen.out_mask = translate(layer.layer, inner)
    seen.losses += inner.losses
    return y


@translates("TimeDistributed")
def time_distributed(layer, seen):
    """Each step of each sequence as an example, to which masks say nothing."""
    n, steps, *rest = seen.x.shape
    inner = seen.inside(xs=(seen.x.reshape(n * steps, *rest),), masks=(None,))
    y, _ = translate(layer.layer, inner)
    seen.new_buffers |= inner.new_buffers
    seen.losses += [each.reshape(n, steps).sum(1) for each in inner.losses]
    seen.out_mask = seen.mask
    return y.reshape(n, steps, *y.shape[1:])
