"""Trust ratios: step sizes relative to the norm of each array, for batches of thousands."""

from typing import ClassVar

from sparkdl.config import Boolean, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.clipping import norm
from sparkdl.nn.hints import Value
from sparkdl.nn.layout import Layout, cut
from sparkdl.nn.optimizers.base import Optimizer


@dataclass(frozen=True, kw_only=True)
class TrustScaled(Optimizer, abstract=True):
    """An optimizer that scales its steps by trust ratios, array by array."""

    elementwise: ClassVar[bool] = False

    vectors: bool = option(
        Boolean(), "Whether arrays of one axis (biases, gains) are scaled too.", default=False
    )


def scale_by_trust_ratio(
    step: Value, params: Value, layout: Layout, coefficient: float, epsilon: float, vectors: bool
) -> Value:
    """Scales each array's part of `step` (n,) by coefficient |params| / (|step| + epsilon).

    Arrays of one axis (biases, gains) are unchanged unless `vectors`; so is an array if either norm
    is 0. optax's scale_by_trust_ratio does the same for all arrays.
    """
    parts = []
    for name, shape in layout.entries:
        part = cut(step, layout.slices[name])
        if vectors or len(shape) > 1:
            param_norm = norm(cut(params, layout.slices[name]))
            part = ops.mul(part, ratio(param_norm, norm(part), coefficient, epsilon))
        parts.append(part)
    return ops.concat(parts) if parts else step


def ratio(params: Value, step: Value, coefficient: float, epsilon: float) -> Value:
    """Returns the trust ratio of an array, given both norms."""
    size = ops.add(ops.where(step, step, 1.0), epsilon)
    trust = ops.div(ops.mul(params, coefficient), size)
    return ops.where(ops.mul(params, step), trust, 1.0)
