"""Cost model of layers that are divided over workers, between which activations travel."""

from dataclasses import dataclass, replace

from sparkdl.exchange.cost_model.model import FREE, Cluster, Exchange


@dataclass(frozen=True, kw_only=True)
class TensorModel:
    """A network as workers see it that have parts of its layers.

    Parameters
    ----------
    degree : int
        Workers that hold a network together.
    divided : float
        Share of the network's computation that they divide; the rest each does for all.
    summed, gathered : tuple of float
        Bytes of each array that is summed, or gathered, for a minibatch of one worker.
    inputs : float
        Bytes of a minibatch.
    nbytes : float
        Of the parameters of the whole network.
    kept : float
        Share of these that a worker has.
    least : float
        Seconds that a minibatch takes with the whole network, however few examples it has.
    """

    degree: int
    divided: float
    summed: tuple[float, ...]
    gathered: tuple[float, ...]
    inputs: float
    nbytes: float
    kept: float
    least: float = 0.0

    def exchange(self, cluster: Cluster, compute: float) -> Exchange:
        """Returns the Exchange of a minibatch of each worker, all that is beyond its computation.

        The workers of a network compute the minibatches of all of them. Nothing is computed while
        activations travel, and gradients of several networks are summed behind that.

        Parameters
        ----------
        cluster : Cluster
        compute : float
            Seconds of a worker for a minibatch, with the whole network.
        """
        work = max(0.0, compute - self.least)
        joint = work * (self.divided + self.degree * (1 - self.divided)) + self.least * self.kept
        per_machine = min(cluster.per_machine, self.degree)
        group = replace(cluster, workers=self.degree, per_machine=per_machine)
        total = Exchange(seconds=joint - compute, sent=0.0)
        for nbytes in self.summed:
            total += group.all_reduce(nbytes * self.degree)
        for nbytes in (*self.gathered, self.inputs):
            total += group.all_gather(nbytes * self.degree)
        return total + self._sum_of_networks(cluster)

    def _sum_of_networks(self, cluster: Cluster) -> Exchange:
        """Returns the Exchange of the gradients of a part, over the networks that there are."""
        networks = cluster.workers // self.degree
        if networks == 1:
            return FREE
        per_machine = max(1, cluster.per_machine // self.degree)
        same_part = replace(cluster, workers=networks, per_machine=per_machine)
        return same_part.all_reduce(self.nbytes * self.kept)
