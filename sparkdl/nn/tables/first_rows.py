"""Initial rows, before any update."""

from zlib import crc32

import numpy as np

from sparkdl import philox


class FirstRows:
    """The initial rows of several tables: functions of the seed, the table's name and the id.

    Numbers are uniform in [-scale, scale).
    """

    def __init__(self, names, dimension, seed, scale):
        self.dimension, self.seed, self.scale = dimension, seed, scale
        self._streams = np.array([crc32(name.encode()) for name in names], np.uint64)

    def of(self, keys):
        """Returns the initial rows (n, dimension) of RowKeys (n,)."""
        if not self.scale:
            return np.zeros((len(keys.ids), self.dimension), np.float32)
        ids, streams = keys.ids.astype(np.uint64), self._streams[keys.tables]
        draws = philox.uniform(ids, 0, self.dimension, self.seed, streams)
        return np.float32(2 * self.scale) * draws - np.float32(self.scale)
