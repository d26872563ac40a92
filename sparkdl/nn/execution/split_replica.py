"""A replica split among several workers that compute each minibatch together."""

from sparkdl.nn.execution.part_replica import PartReplica
from sparkdl.nn.execution.split_network import SplitNetwork


class SplitReplica(PartReplica):
    """A PartReplica of a SplitNetwork.

    All processes of the group call `gradient` with the same batch.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
        The whole network.
    group : see engine/ops/collective.py
    params, slots, buffers, backend
        As for PartReplica.
    """

    def __init__(self, conf, group, params, slots, buffers, backend="auto"):
        self.group = group
        super().__init__(SplitNetwork(conf, group), params, slots, buffers, backend)
