"""Cost model of tensor parallelism: layers divided over workers that exchange activations."""

from dataclasses import dataclass, replace

from sparkdl.exchange.cost_model.model import FREE, Cluster, Exchange


@dataclass(frozen=True, kw_only=True)
class TensorModel:
    """Properties of a network that determine the cost of dividing its layers.

    Parameters
    ----------
    degree : int
        Workers that share one network.
    divided : float
        Share of the computation that is divided; each worker does the rest for all.
    summed, gathered : tuple of float
        Bytes of each array summed, or gathered, per minibatch of one worker.
    inputs : float
        Bytes of a minibatch's features.
    nbytes : float
        Bytes of the whole network's parameters.
    kept : float
        Share of the parameters that each worker holds.
    least : float
        Seconds that the smallest minibatch takes with the whole network.
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
        """Returns the Exchange of one minibatch per worker: all costs beyond its computation.

        The workers that share a network compute the minibatches of all of them. Nothing is computed
        while activations travel; gradients are then summed over the networks.

        Parameters
        ----------
        cluster : Cluster
        compute : float
            Seconds that a worker takes for a minibatch with the whole network.
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
        """Returns the Exchange of summing the gradients of a worker's part over the networks."""
        networks = cluster.workers // self.degree
        if networks == 1:
            return FREE
        per_machine = max(1, cluster.per_machine // self.degree)
        same_part = replace(cluster, workers=networks, per_machine=per_machine)
        return same_part.all_reduce(self.nbytes * self.kept)
