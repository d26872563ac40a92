"""Minibatches without sparkdl.data, whose readers need packages that may be missing."""

import numpy as np

from sparkdl.nn.inputs.columns import nominal_shapes


class Some:
    """The part of Batch's interface that a replica uses."""

    def __init__(self, columns):
        self.columns = columns
        self.ids = np.arange(len(self), dtype=np.uint64)

    def __len__(self):
        return len(next(iter(self.columns.values())))


def noise(conf, n=4):
    """Returns a random batch for one input and one output; symbols for a token input."""
    rng, columns = np.random.default_rng(0), {}
    for name, shape in nominal_shapes(conf, n):
        columns[name] = rng.normal(size=shape).astype(np.float32)
        if name == "labels" or len(shape) == 2:
            columns[name] = rng.integers(0, conf.outputs[0].out_shape[-1], shape).astype(np.int32)
    return Some(columns)
