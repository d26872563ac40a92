"""Losses of rows: z (rows, units) and labels to one number per row.

Each formula follows the reference in the loss's docstring: a sum over units unless it says mean.
"""

from math import log, pi

import jax
import jax.numpy as jnp
import optax


def log_softmax(z):
    return z - jax.scipy.special.logsumexp(z, axis=-1, keepdims=True)


def one_hot(labels, units):
    return jax.nn.one_hot(labels, units, dtype=jnp.float64)


def per_unit(terms, mean=False):
    """Makes a loss of one term per unit, weighted by `unit_weights`."""

    def loss(f, z, y):
        each = terms(f, z, y)
        if (ignored := getattr(f, "ignore_label", None)) is not None:
            each = jnp.where(y == ignored, 0.0, each)
        if f.unit_weights is not None:
            each = each * jnp.asarray(f.unit_weights)
        return each.mean(-1) if mean or getattr(f, "averaged", False) else each.sum(-1)

    return loss


def softmax_cross_entropy(f, z, y):
    weights = jnp.ones(z.shape[-1]) if f.class_weights is None else jnp.asarray(f.class_weights)
    if f.labels == "one_hot" or f.label_smoothing or f.focal_gamma:
        return softmax_of_shares(f, z, y, weights)
    ignored = jnp.zeros(y.shape, bool) if f.ignore_label is None else y == f.ignore_label
    known = jnp.where(ignored, 0, y)
    picked = jnp.take_along_axis(log_softmax(z), known[:, None], 1)[:, 0]
    return jnp.where(ignored, 0.0, -weights[known] * picked)


def softmax_of_shares(f, z, y, weights):
    """Szegedy et al. (2016), section 7, and Lin et al. (2017), eq. 4."""
    counted = jnp.ones(len(z))
    if f.labels == "class":
        counted = (
            jnp.where(y == f.ignore_label, 0.0, 1.0) if f.ignore_label is not None else counted
        )
        y = one_hot(jnp.where(counted > 0, y, 0), z.shape[-1])
    y = (1 - f.label_smoothing) * y + f.label_smoothing / z.shape[-1]
    logs = log_softmax(z)
    factor = jnp.exp(f.focal_gamma * log_of_others(logs)) if f.focal_gamma else 1.0
    return -(weights * y * factor * logs).sum(-1) * counted


def log_of_others(logs):
    """Returns log(1 - p) of log p, at least that of 1e-300."""
    return jnp.log(jnp.maximum(-jnp.expm1(logs), 1e-300))


def infogain(f, z, y):
    return -(jnp.asarray(f.gain, jnp.float64)[y] * log_softmax(z)).sum(-1)


def multinomial_logistic(f, z, y):
    own = jnp.take_along_axis(z, y[:, None], 1)[:, 0]
    return -jnp.log(jnp.where(own < 1e-20, 1e-20, own))


def sigmoid_cross_entropy(f, z, y):
    ignored = None if f.ignore_label is None else y == f.ignore_label
    y = (1 - f.label_smoothing) * y + f.label_smoothing / 2
    terms = -(y * jax.nn.log_sigmoid(z) + (1 - y) * jax.nn.log_sigmoid(-z))
    if f.focal_gamma:
        wrong = y * jax.nn.sigmoid(-z) + (1 - y) * jax.nn.sigmoid(z)
        terms = terms * jnp.exp(f.focal_gamma * jnp.log(jnp.maximum(wrong, 1e-300)))
    if f.focal_alpha is not None:
        terms = terms * (y * f.focal_alpha + (1 - y) * (1 - f.focal_alpha))
    if f.ignore_label is not None:
        terms = jnp.where(ignored, 0.0, terms)
    weights = jnp.ones(z.shape[-1]) if f.unit_weights is None else jnp.asarray(f.unit_weights)
    terms = terms * weights
    return terms.mean(-1) if f.averaged else terms.sum(-1)


def kl_divergence(f, z, y):
    entropy = jnp.where(y > 0, y * jnp.log(jnp.where(y > 0, y, 1.0)), 0.0)
    return entropy - y * log_softmax(z)


def huber(f, z, y):
    away = jnp.abs(z - y)
    return jnp.where(away <= f.delta, away**2 / 2, f.delta * (away - f.delta / 2))


def log_cosh(f, z, y):
    return jnp.logaddexp(z - y, y - z) - log(2)


def log_above(x):
    return jnp.log1p(jnp.where(x < 1e-7, 1e-7, x))


def signs(f, z, y):
    return 2 * one_hot(y, z.shape[-1]) - 1 if f.labels == "class" else y


def missing(f, z, y):
    gap = 1 - signs(f, z, y) * z
    return jnp.where(gap > 0, gap, 0)


def multiclass_hinge(f, z, y):
    """Crammer and Singer, eq. 4."""
    own = one_hot(y, z.shape[-1]) > 0
    true = jnp.where(own, z, 0).sum(-1)
    best_other = jnp.where(own, -jnp.inf, z).max(-1)
    gap = 1 + best_other - true
    return jnp.where(gap > 0, gap, 0)


def cosine_proximity(f, z, y):
    lengths = [jnp.sqrt(jnp.maximum((v**2).sum(-1), 1e-12)) for v in (z, y)]
    return -(z * y).sum(-1) / (lengths[0] * lengths[1])


def multi_label(f, z, y):
    """Zhang and Zhou, eq. 3: a mean over pairs."""
    pairs = y[:, :, None] * (1 - y[:, None, :])
    cost = jnp.exp(z[:, None, :] - z[:, :, None])
    return (pairs * cost).sum((1, 2)) / jnp.maximum(pairs.sum((1, 2)), 1)


def contrastive(f, z, y):
    far = f.margin - z**2 if f.legacy else f.margin - z
    far = jnp.where(far > 0, far, 0)
    return (y * z**2 + (1 - y) * (far if f.legacy else far**2)) / 2


def quantile(f, z, y):
    """Koenker and Bassett, eq. 3.1; as in scikit-learn's mean_pinball_loss."""
    shares = jnp.asarray(f.quantiles)
    away = y[:, :, None] - z.reshape(len(z), -1, len(shares))
    return jnp.maximum(shares * away, (shares - 1) * away).mean((1, 2))


def gaussian(f, z, y):
    mean, log_variance = jnp.split(z, 2, -1)
    return -jax.scipy.stats.norm.logpdf(y, mean, jnp.exp(log_variance / 2)).sum(-1)


def mixture_density(f, z, y):
    """Bishop, eq. 22 to 29."""
    k, width = f.components, f.width
    log_shares, log_deviation = log_softmax(z[:, :k]), z[:, k : 2 * k]
    means = z[:, 2 * k :].reshape(-1, k, width)
    square = ((y[:, None, :] - means) ** 2).sum(-1) * jnp.exp(-2 * log_deviation)
    log_density = -square / 2 - width * (log_deviation + log(2 * pi) / 2)
    return -jax.scipy.special.logsumexp(log_shares + log_density, -1)


DIFFERENCES = ("mse", "mae", "l1", "l2", "euclidean", "mape", "msle", "huber", "log_cosh")
ROWS = {
    "softmax_cross_entropy": softmax_cross_entropy,
    "infogain": infogain,
    "multinomial_logistic": multinomial_logistic,
    "sigmoid_cross_entropy": sigmoid_cross_entropy,
    "kl_divergence": per_unit(kl_divergence),
    "poisson": per_unit(lambda f, z, y: jnp.exp(z) - y * z),
    "exponential": per_unit(lambda f, z, y: jnp.exp(z) * y - z),
    "gaussian": gaussian,
    "mixture_density": mixture_density,
    "mse": per_unit(lambda f, z, y: (z - y) ** 2, mean=True),
    "mae": per_unit(lambda f, z, y: jnp.abs(z - y), mean=True),
    "l1": per_unit(lambda f, z, y: jnp.abs(z - y)),
    "l2": per_unit(lambda f, z, y: (z - y) ** 2),
    "euclidean": per_unit(lambda f, z, y: (z - y) ** 2 / 2),
    "mape": per_unit(
        lambda f, z, y: 100 * jnp.abs(y - z) / jnp.maximum(jnp.abs(y), 1e-7), mean=True
    ),
    "msle": per_unit(lambda f, z, y: (log_above(z) - log_above(y)) ** 2, mean=True),
    "huber": per_unit(huber, mean=True),
    "log_cosh": per_unit(log_cosh, mean=True),
    "quantile": quantile,
    "hinge": per_unit(missing),
    "squared_hinge": per_unit(lambda f, z, y: missing(f, z, y) ** 2),
    "multiclass_hinge": multiclass_hinge,
    "cosine_proximity": cosine_proximity,
    "wasserstein": per_unit(lambda f, z, y: y * z, mean=True),
    "multi_label": multi_label,
    "contrastive": per_unit(contrastive),
}


def ctc(f, z, labels, mask):
    """Calls optax's loss, which needs real labels first and paddings as 1."""
    steps = jnp.zeros(z.shape[:2]) if mask is None else 1.0 - mask
    padded = (labels < 0).astype(jnp.float64)
    known = jnp.where(labels < 0, 0, labels)
    return optax.ctc_loss(z, steps, known, padded, blank_id=f.blank)


def overlap(f, z, y, mask):
    """Milletari et al. (2016), section 3, without squares, or Salehi et al. (2017), eq. 1 and 4."""
    units = 1 if z.ndim > 3 else -1
    shape = len(z), -1, z.shape[units]
    p = prediction(f, jnp.moveaxis(z, units, -1)).reshape(shape)
    counted = jnp.ones(p.shape[:2]) if mask is None else mask
    if f.labels == "class":
        places = y.reshape(p.shape[:2])
        counted = counted if f.ignore_label is None else counted * (places != f.ignore_label)
        y = one_hot(places, shape[-1])
    else:
        y = jnp.moveaxis(y, units, -1).reshape(shape)
    w = jnp.ones(shape[-1]) if f.class_weights is None else jnp.asarray(f.class_weights)
    over, counted = (1, counted[..., None]) if f.per_unit else ((1, 2), counted[..., None] * w)
    both, wrong, missed = ((x * counted).sum(over) for x in (p * y, p * (1 - y), (1 - p) * y))
    if f.type_name == "dice":
        both, total = 2 * both, 2 * both + wrong + missed + f.smooth
    else:
        total = both + f.alpha * wrong + f.beta * missed + f.smooth
    found = 1 - (both + f.smooth) / jnp.where(total < 1e-7, 1e-7, total)
    return (w * found).mean(-1) if f.per_unit else found


WHOLE = {"ctc": ctc, "dice": overlap, "tversky": overlap}  # losses of all steps or places at once

SOFTMAX = ("softmax_cross_entropy", "infogain", "kl_divergence", "multiclass_hinge", "ctc")


def prediction(f, z):
    """Returns the network's prediction from z (..., units)."""
    name = f.type_name
    if name in ("dice", "tversky"):
        return jax.nn.sigmoid(z) if f.labels == "masks" else jax.nn.softmax(z, -1)
    if name in SOFTMAX or (name in ("hinge", "squared_hinge") and f.labels == "class"):
        return jax.nn.softmax(z, -1)
    if name == "sigmoid_cross_entropy":
        return jax.nn.sigmoid(z)
    if name == "poisson":
        return jnp.exp(z)
    return jnp.exp(-z) if name == "exponential" else z
