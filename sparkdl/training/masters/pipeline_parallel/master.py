"""Pipeline parallelism: workers have stages of the network, and microbatches pass through them."""

from collections.abc import Iterator
from typing import Any, ClassVar

from sparkdl.config import Boolean, Choice, Either, Integer, Sequence, Text, dataclass, option
from sparkdl.errors import ConfigError
from sparkdl.nn.clipping import ClipNorm
from sparkdl.nn.optimization.loss_scale import FLOAT16
from sparkdl.nn.optimization.vector_part import VectorPart
from sparkdl.training.masters.divided_master import DividedMaster
from sparkdl.training.masters.pipeline_parallel.cuts import stages_of
from sparkdl.training.masters.pipeline_parallel.worker import PipelineWorker, stage_replica


@dataclass(frozen=True, kw_only=True)
class PipelineParallel(DividedMaster):
    """Each worker has some neighboring layers; microbatches pass through all workers and back.

    It is training on the joint minibatch of all workers, as with AllReduceSGD. Each worker reads
    minibatches; the first stage gets the features of all, the last one the labels. Instead of
    gradients of all parameters, activations of a few layers travel; and a worker has the
    parameters, the optimizer state and the activations of its layers alone.

    Layers that look at a whole batch, such as BatchNorm, look at a microbatch; running means see
    all microbatches in turn. So does the reduction "valid" of a loss: it divides by how many steps
    count in a microbatch, and the gradient is the mean of microbatches, weighted by examples.

    References
    ----------
    Huang et al., GPipe: efficient training of giant neural networks using pipeline parallelism
    (2019). Narayanan et al., PipeDream (2019): one forward, one backward. Torch's
    torch.distributed.pipelining.
    """

    divided: ClassVar[str] = "stages"

    stages: str | int | tuple[str, ...] = option(
        Either(
            of=(
                Choice(of=("auto",)),
                Integer(minimum=1),
                Sequence(of=Text(what="the name of a layer")),
            )
        ),
        "The stages that the network is cut into: their number, or the layers that the second "
        "stage and those behind it begin with. Numbers are cut so that the slowest stage, by "
        "operations and bytes, is as fast as can be. The workers are as many pipelines as they "
        'are times the stages. "auto": as many as divide the workers, at most one for each.',
        default="auto",
    )
    microbatches: int = option(
        Integer(minimum=1),
        "Parts of each worker's minibatch that pass through the stages one after the other. Of n "
        "stages (n - 1) / (n microbatches + n - 1) of the time passes while the pipeline fills "
        "and empties. 1 where a loss adds up a minibatch: reduction 'total', or an AddedLoss.",
        default=2,
    )
    recompute: bool = option(
        Boolean(),
        "Whether stages keep only the inputs of a microbatch until its gradients come back, and "
        "compute its activations again then: a third more computation, for the memory of one "
        "microbatch in place of as many as there are stages behind. The last stage keeps them.",
        default=False,
    )

    def check_network(self, conf: Any) -> None:
        super().check_network(conf)
        if self.workers is not None:
            stages_of(conf, self.stages, self.workers)
        if self.microbatches > 1:
            self._check_sums(conf)

    def _check_sums(self, conf: Any) -> None:
        """Raises ConfigError for a loss that adds up a minibatch: of parts there is the mean."""
        for place in conf.stack:
            if place.layer.sums_batch:
                raise ConfigError(
                    f"PipelineParallel.microbatches must be 1 with layer {place.name!r}, whose "
                    f"loss adds up a minibatch, got {self.microbatches}; set it to 1, or take a "
                    'reduction other than "total", of an AddedLoss mean=True'
                )

    def strategy(self, worker: Any) -> Any:
        return PipelineWorker(self, worker)

    def replica(self, setup: Any, group: Any, share: Any) -> Any:
        return stage_replica(self, setup, group, share)

    def parts(self, conf: Any, workers: int) -> list[VectorPart]:
        stages = stages_of(conf, self.stages, workers)
        return [VectorPart((stage.section.part,)) for stage in stages]

    def refusals(self, conf: Any) -> Iterator[str]:
        if conf.replica_class is not None:
            yield "a module of another framework"
        if conf.dtype == FLOAT16:
            yield "dtype 'float16', whose loss scale looks at all gradients"
        if isinstance(conf.clipping, ClipNorm):
            yield "ClipNorm, which looks at all gradients"
