"""A replica that holds a part of a network, while other workers hold the rest."""

import numpy as np

from sparkdl.nn.execution.replica import Replica


class PartReplica(Replica):
    """A Replica whose `params`, `grad` and `slots` cover a part of the network; buffers are whole.

    Parameters
    ----------
    conf : NetworkConf, GraphConf or SplitNetwork
    params, slots : float32 vectors
        Those of the part; copied.
    buffers : float32 vector
        All buffers; copied.
    backend : str
    """

    def __init__(self, conf, params, slots, buffers, backend="auto"):
        self._start = {"params": params, "buffers": buffers, "slots": slots}
        super().__init__(conf, backend)
        self._start = None

    def _first_values(self):
        values = {name: np.array(vector, np.float32) for name, vector in self._start.items()}
        return values | {"grad": np.zeros_like(values["params"])}

    @property
    def decodes(self):
        """Empty: images travel to other workers as arrays."""
        return ()
