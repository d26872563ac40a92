"""Normalization as a few passes over memory: sums, and chains for the rest."""

from math import prod

from sparkdl.engine.backends.cuda.lowerings.channels import MomentsOp, SlopesOp
from sparkdl.engine.ops.elementwise import add, div, mul, sqrt, sub
from sparkdl.engine.ops.layer_norm import LayerNormGradOp, LayerNormOp
from sparkdl.engine.ops.normalization import BatchNormGradOp, BatchNormOp, NormalizeOp
from sparkdl.engine.ops.reduce import mean
from sparkdl.engine.ops.reduce import sum as sum_along
from sparkdl.engine.ops.shape import widen


def batch_norm(op, x, gamma, beta):
    mu, var = MomentsOp()(x)
    x, gamma, beta = map(widen, (x, gamma, beta))
    return NormalizeOp(op.epsilon).decompose(x, gamma, beta, mu, var), mu, var


def batch_norm_grad(op, gy, x, gamma, mu, var):
    """Decomposes as BatchNormGradOp does, but with the given statistics."""
    gamma, mu, var = map(widen, (gamma, mu, var))
    gbeta, ggamma = SlopesOp(op.epsilon)(gy, x, mu, var)
    gy, x, count = widen(gy), widen(x), prod(x.shape) // x.shape[1]
    inverse = div(1.0, sqrt(add(var, op.epsilon)))
    slope = mul(sub(x, op.wide(mu, x)), op.wide(mul(inverse, ggamma), x))
    rest = mul(add(op.wide(gbeta, x), slope), 1 / count)
    return mul(sub(gy, rest), op.wide(mul(gamma, inverse), x)), ggamma, gbeta


def layer_norm(op, x, gamma, beta):
    mu, var = op.statistics(x)
    scaled = mul(op.normalize(x, mu, var), op.along(gamma, x))
    return add(scaled, op.along(beta, x)), mu, var


def layer_norm_grad(op, gy, x, gamma, mu, var):
    """Decomposes as LayerNormGradOp does, but with the given statistics."""
    axis, others = op.axis, op.others(x)
    hat = op.normalize(x, mu, var)
    ghat = mul(gy, op.along(gamma, x))
    rest = add(mean(ghat, axis, True), mul(hat, mean(mul(ghat, hat), axis, True)))
    gx = div(sub(ghat, rest), sqrt(add(op.wide(var, x), op.epsilon)))
    return gx, sum_along(mul(gy, hat), others), sum_along(gy, others)


PASSES = {LayerNormOp: layer_norm, LayerNormGradOp: layer_norm_grad}
BY_CHANNELS = {BatchNormOp: batch_norm, BatchNormGradOp: batch_norm_grad}
