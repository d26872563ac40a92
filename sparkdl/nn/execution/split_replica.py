"""A replica of which several workers have a part each, and compute a minibatch together."""

import numpy as np

from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.execution.split_network import SplitNetwork


class SplitReplica(Replica):
    """A Replica whose `params`, `grad` and `slots` are those of a SplitNetwork; buffers are whole.

    All processes of the group call `gradient` with the same batch.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
        The whole network.
    group : see engine/ops/collective.py
    params, slots : float32 vectors
        Those of this process's part; copied.
    buffers : float32 vector
        All of them; copied.
    backend : str
    """

    def __init__(self, conf, group, params, slots, buffers, backend="auto"):
        self.group = group
        self._start = {"params": params, "buffers": buffers, "slots": slots}
        super().__init__(SplitNetwork(conf, group), backend)
        self._start = None

    def _first_values(self):
        values = {name: np.array(vector, np.float32) for name, vector in self._start.items()}
        return values | {"grad": np.zeros_like(values["params"])}

    @property
    def decodes(self):
        """None: images travel to the others as arrays."""
        return ()
