"""Random float64 parameters, buffers and batches of a network."""

import numpy as np

BATCH = 3


def arrays(layout, rng):
    """Returns {name: numbers} of size 0.2 to 1 and random sign; variances and weights positive."""
    return {name: numbers(name, shape, rng) for name, shape in layout.entries}


def numbers(name, shape, rng):
    size = rng.uniform(0.2, 1, shape)
    above = name.rpartition("/")[2] in ("variance", "weight")
    return size if above else size * rng.choice([-1, 1], shape)


def columns(conf, rng, n=BATCH, inputs=None):
    """Returns an unmasked batch: normal inputs, or those that `inputs` {name: draw(size)} gives."""
    batch = {}
    for column, name in conf.feature_columns.items():
        draw = (inputs or {}).get(name, rng.normal)
        batch[column] = np.asarray(draw(size=(n, *conf.input_shapes[name])), np.float64)
    for column, place in conf.label_columns.items():
        batch[column] = labels(place, n, rng)
    return batch


def labels(place, n, rng):
    """Draws labels as the loss documents them, some of them ignored."""
    values, ignored = known_labels(place, (n, *place.label_shape), rng), ignored_by(place)
    if place.layer.loss.type_name == "ctc":
        values[1:, 1:] = ignored  # behind the real labels
    elif ignored is not None:
        values[rng.uniform(size=values.shape) < 0.3] = ignored
    return values


def ignored_by(place):
    return getattr(place.layer.loss, "ignore_label", None)


def known_labels(place, shape, rng):
    loss = place.layer.loss
    name = loss.type_name
    if loss.label_kind == "class":
        units = place.out_shape[0] if len(place.out_shape) > 2 else place.out_shape[-1]
        low = name == "ctc" and loss.blank == 0
        return rng.integers(low, units - (name == "ctc" and not low), shape, np.int32)
    if name in ("kl_divergence", "softmax_cross_entropy"):
        return rng.dirichlet(np.ones(shape[-1]), shape[:-1])
    if name in ("sigmoid_cross_entropy", "multi_label", "contrastive"):
        return rng.integers(0, 2, shape).astype(float)
    if name in ("hinge", "squared_hinge", "wasserstein"):
        return rng.choice([-1.0, 1.0], shape)
    return rng.uniform(0.2, 2, shape)
