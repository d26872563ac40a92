"""Wrapper layers."""

import jax

from tests.oracle.jax_translation.seen import translate, translates


@translates("Frozen")
def frozen(layer, seen):
    """Runs the layer in inference mode always; its parameters get no gradient."""
    fixed = {name: jax.lax.stop_gradient(value) for name, value in seen.params.items()}
    inner = seen.inside(params=fixed, training=False)
    y, seen.out_mask = translate(layer.layer, inner)
    seen.losses += inner.losses
    return y


@translates("TimeDistributed")
def time_distributed(layer, seen):
    """Treats each step of each sequence as an example; nested masks become example masks."""
    n, steps, *rest = seen.x.shape
    within = seen.mask is not None and seen.mask.ndim == 3
    given = seen.mask.reshape(n * steps, -1) if within else None
    inner = seen.inside(xs=(seen.x.reshape(n * steps, *rest),), masks=(given,))
    y, made = translate(layer.layer, inner)
    seen.new_buffers |= inner.new_buffers
    share = steps if layer.layer.sums_batch else 1  # n steps times the sum became n times it
    seen.losses += [each.reshape(n, steps).sum(1) / share for each in inner.losses]
    seen.out_mask = seen.mask.max(2) if within else seen.mask
    if made is not None:
        outer = 1 if within or seen.mask is None else seen.mask[..., None]
        seen.out_mask = made.reshape(n, steps, -1) * outer
    return y.reshape(n, steps, *y.shape[1:])
