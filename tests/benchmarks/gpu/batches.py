"""Minibatches without sparkdl.data, whose readers need packages that may not be here."""

import numpy as np

from sparkdl.nn.inputs.columns import nominal_shapes


class Some:
    """What of a Batch a replica asks for."""

    def __init__(self, columns):
        self.columns = columns
        self.ids = np.arange(len(self), dtype=np.uint64)

    def __len__(self):
        return len(next(iter(self.columns.values())))


def noise(conf, n=4):
    """A batch for a network of one input and one output: symbols where it takes such."""
    rng, columns = np.random.default_rng(0), {}
    for name, shape in nominal_shapes(conf, n):
        columns[name] = rng.normal(size=shape).astype(np.float32)
        if name == "labels" or len(shape) == 2:
            columns[name] = rng.integers(0, conf.outputs[0].out_shape[-1], shape).astype(np.int32)
    return Some(columns)
