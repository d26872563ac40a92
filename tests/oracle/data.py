"""Batches for any network: features that suit its layers, labels that suit its losses."""

import numpy as np

from sparkdl.data.batches.batch import Batch
from sparkdl.nn.inputs.columns import WEIGHTS, label_mask_of, mask_of
from sparkdl.nn.layers import BatchReindex, Frozen
from sparkdl.nn.layers.dense.embedding import Lookup
from sparkdl.nn.layers.recurrent.base import Recurrent
from tests.oracle.labels import labels_of


def batch_of(case):
    """Returns the Batch of a case: float32 features and int32 classes."""
    conf, n, rng = case.conf, case.batch, np.random.default_rng(case.seed)
    columns = {
        column: features_of(conf, name, (n, *conf.input_shapes[name]), rng)
        for column, name in conf.feature_columns.items()
    }
    for column, place in conf.label_columns.items():
        columns[column] = labels_of(place, n, rng)
    columns |= masks_of(case, rng)
    if case.weights:
        columns[WEIGHTS] = rng.uniform(0, 2, n).astype(np.float32)
    return Batch(columns=columns, ids=np.arange(n, dtype=np.uint64) + np.uint64(7))


def features_of(conf, name, shape, rng):
    """Returns an input's numbers: indices if a layer looks them up, else normal numbers."""
    limit = highest_index(conf, name, shape[0])
    if limit is not None:
        return rng.integers(0, limit, shape).astype(np.float32)
    return rng.normal(size=shape).astype(np.float32)


def highest_index(conf, name, batch):
    """Returns the number of valid indices of an input; None if it takes any number."""
    limits = [limit_of(place, name, batch) for place in conf.stack if name in place.sources]
    return min((limit for limit in limits if limit is not None), default=None)


def limit_of(place, name, batch):
    layer = place.layer.layer if isinstance(place.layer, Frozen) else place.layer
    if isinstance(layer, Lookup):
        return layer.vocabulary_size
    second = len(place.sources) > 1 and place.sources[1] == name
    if second and isinstance(layer, BatchReindex):
        return batch
    if second and isinstance(layer, Recurrent):
        return 2  # whether a step continues the sequence
    return None


def masks_of(case, rng):
    """Returns {column: mask (n, T)} for every sequence input and sequence label."""
    if case.mask == "none":
        return {}
    conf = case.conf
    shapes = {mask_of(column): conf.input_shapes[n] for column, n in conf.feature_columns.items()}
    if case.seed % 3 == 0:
        for column, place in conf.label_columns.items():
            shapes[label_mask_of(column)] = place.out_shape
    sequences = {column: shape[0] for column, shape in shapes.items() if len(shape) == 2}
    return {column: mask(case, steps, rng) for column, steps in sequences.items()}


def mask(case, steps, rng):
    """Returns a mask (n, T) of 0 and 1."""
    least = 0 if case.mask == "empty" else 1
    lengths = rng.integers(least, steps + 1, case.batch)
    there = np.arange(steps) < lengths[:, None]
    if case.mask == "ones":
        there[:] = True
    if case.mask == "holes":
        there = rng.random((case.batch, steps)) < 0.6
        there[:, rng.integers(0, steps)] = True
    return there.astype(np.float32)
