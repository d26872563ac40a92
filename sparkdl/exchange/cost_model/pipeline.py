"""Cost model of pipeline parallelism: network stages on workers that exchange activations."""

from dataclasses import dataclass, replace

from sparkdl.exchange.cost_model.model import FREE, Cluster, Exchange


@dataclass(frozen=True, kw_only=True)
class PipelineModel:
    """Properties of a network that determine the cost of its pipeline.

    Parameters
    ----------
    stages : int
    slowest : float
        Share of the network's computation in the slowest stage.
    crossing : float
        Bytes per minibatch of one worker across the widest cut, in one direction.
    inputs : float
        Bytes of a minibatch's features.
    nbytes : float
        Bytes of the largest stage's parameters.
    microbatches : int
        Microbatches per minibatch of a worker.
    least : float
        Seconds that the smallest microbatch takes in the slowest stage.
    """

    stages: int
    slowest: float
    crossing: float
    inputs: float
    nbytes: float
    microbatches: int
    least: float = 0.0

    def exchange(self, cluster: Cluster, compute: float) -> Exchange:
        """Returns the Exchange of one minibatch per worker: all costs beyond its computation.

        A microbatch occupies a stage for the longer of its processor work (computation and socket
        transfers) and its network transfer. All microbatches follow each other after the pipeline
        has filled; gradients are then summed over the pipelines.

        Parameters
        ----------
        cluster : Cluster
        compute : float
            Seconds that a worker takes for a minibatch with the whole network.
        """
        crossing = self.crossing / self.microbatches * (self.stages > 1)
        work = max(0.0, compute * self.slowest - self.least) / self.microbatches + self.least
        work += 2 * crossing * cluster.costs.socket * cluster.crowd
        wire = crossing / cluster.bandwidth * (cluster.machines > 1)
        slots = self.stages * self.microbatches
        fill = (self.stages - 1) * (max(work, wire) + 2 * (wire + cluster.delay))
        features = self.inputs * (self.stages - 1)
        first = features / self.stages / cluster.bandwidth * (cluster.machines > 1)
        seconds = slots * max(work, wire) + fill + first
        summed = self._sum_of_pipelines(cluster)
        sent = 2 * self.crossing * (self.stages - 1) + features / self.stages + summed.sent
        return Exchange(seconds=seconds - compute + summed.seconds, sent=sent)

    def _sum_of_pipelines(self, cluster: Cluster) -> Exchange:
        """Returns the Exchange of summing a stage's gradients over the pipelines."""
        pipelines = cluster.workers // self.stages
        if pipelines == 1:
            return FREE
        per_machine = max(1, cluster.per_machine // self.stages)
        return replace(cluster, workers=pipelines, per_machine=per_machine).all_reduce(self.nbytes)
