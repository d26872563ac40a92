"""Labels for any loss: classes, distributions, signs, label sequences, boxes."""

import numpy as np

from sparkdl.nn.inputs.labels import label_requirements


def labels_of(place, n, rng):
    """Returns labels (n, ...) of the output at `place`."""
    loss, (kind, shape, units, _) = place.layer.loss, label_requirements(place)
    if loss.type_name in MADE:
        return MADE[loss.type_name](loss, (n, *shape), place, rng)
    if kind == "class":
        return classes(loss, (n, *shape), units, rng)
    drawn = VALUES.get(loss.type_name, normal)((n, *shape), axis_of(place), rng)
    if (ignored := getattr(loss, "ignore_label", None)) is not None:
        drawn = np.where(rng.random(drawn.shape) < 0.3, ignored, drawn)
    return drawn.astype(np.float32)


def axis_of(place):
    """Returns the labels' axis of units."""
    return 1 if len(place.out_shape) > 2 else -1


def classes(loss, shape, units, rng):
    """Draws classes, some of them the ignored label."""
    drawn = rng.integers(0, units, shape)
    ignored = getattr(loss, "ignore_label", None)
    if ignored is not None:
        drawn = np.where(rng.random(shape) < 0.3, ignored, drawn)
    return drawn.astype(np.int32)


def spelled(loss, shape, place, rng):
    """Draws CTC label sequences without the blank, of different lengths."""
    units = place.out_shape[-1]
    others = [c for c in range(units) if c != loss.blank] or [-1]
    drawn = np.array(others)[rng.integers(0, len(others), shape)]
    lengths = rng.integers(0, shape[1] + 1, shape[0])
    return np.where(np.arange(shape[1]) < lengths[:, None], drawn, -1).astype(np.int32)


def boxes(loss, shape, place, rng):
    """Draws YOLO2 objects: in some cells, box corners around a center in the cell, and a class."""
    n, many, rows, columns = shape
    labels = np.zeros(shape)
    for example, row, column in np.ndindex(n, rows, columns):
        if rng.random() < 0.5:
            middle = np.array([column, row]) + rng.uniform(0.1, 0.9, 2)
            half = rng.uniform(0.2, 1.5, 2)
            labels[example, :4, row, column] = [*(middle - half), *(middle + half)]
            labels[example, 4 + rng.integers(many - 4), row, column] = 1
    return labels.astype(np.float32)


def normal(shape, axis, rng):
    return rng.normal(size=shape)


def positive(shape, axis, rng):
    return rng.uniform(0.1, 2, shape)


def signs(shape, axis, rng):
    return rng.choice([-1.0, 1.0], shape)


def yes_or_no(shape, axis, rng):
    return rng.choice([0.0, 1.0], shape)


def counts(shape, axis, rng):
    return rng.integers(0, 4, shape)


def distribution(shape, axis, rng):
    """Draws shares that sum to 1, for some examples one-hot."""
    shares = rng.uniform(0, 1, shape)
    if rng.random() < 0.5:
        shares = shares == shares.max(axis=axis, keepdims=True)
    return shares / shares.sum(axis=axis, keepdims=True)


VALUES = {
    "contrastive": yes_or_no,
    "cosine_proximity": normal,
    "exponential": positive,
    "hinge": signs,
    "kl_divergence": distribution,
    "mape": positive,
    "msle": positive,
    "multi_label": yes_or_no,
    "poisson": counts,
    "sigmoid_cross_entropy": yes_or_no,
    "softmax_cross_entropy": distribution,
    "squared_hinge": signs,
    "wasserstein": signs,
}
MADE = {"ctc": spelled, "yolo2": boxes}
