"""Cost model of a pipeline: stages of a network on workers, between which activations travel."""

from dataclasses import dataclass, replace

from sparkdl.exchange.cost_model.model import FREE, Cluster, Exchange


@dataclass(frozen=True, kw_only=True)
class PipelineModel:
    """A network as a pipeline sees it.

    Parameters
    ----------
    stages : int
    slowest : float
        Share of the network's computation in the slowest stage.
    crossing : float
        Bytes of a minibatch of one worker that cross the widest cut, one way.
    inputs : float
        Bytes of the features of a minibatch.
    nbytes : float
        Of the parameters of the largest stage.
    microbatches : int
        Of each worker's minibatch.
    least : float
        Seconds that a microbatch takes in the slowest stage, however few examples it has.
    """

    stages: int
    slowest: float
    crossing: float
    inputs: float
    nbytes: float
    microbatches: int
    least: float = 0.0

    def exchange(self, cluster: Cluster, compute: float) -> Exchange:
        """Returns the Exchange of a minibatch of each worker, all that is beyond its computation.

        A microbatch takes a stage as long as its computation and the work for what it passes on,
        or as long as the wire needs. As many of these as there are microbatches follow each other,
        behind those in which the pipeline fills; gradients are then summed over the pipelines.

        Parameters
        ----------
        cluster : Cluster
        compute : float
            Seconds of a worker for a minibatch, with the whole network.
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
        """Returns the Exchange of the gradients of a stage, over the pipelines that there are."""
        pipelines = cluster.workers // self.stages
        if pipelines == 1:
            return FREE
        per_machine = max(1, cluster.per_machine // self.stages)
        return replace(cluster, workers=pipelines, per_machine=per_machine).all_reduce(self.nbytes)
