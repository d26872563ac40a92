"""Pipeline parallelism: each worker holds a stage of the network that microbatches pass through."""

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
    """Pipeline parallelism: each worker has a stage of the layers; microbatches pass through all.

    It is equivalent to training on the joint minibatch of all workers, as with AllReduceSGD. Each
    worker reads minibatches; the first stage receives all features, the last one all labels.
    Workers send activations of a few layers instead of the gradients of all parameters, and store
    only the parameters, optimizer state and activations of their own layers.

    Layers that compute batch statistics, such as BatchNorm, see one microbatch; running means see
    all microbatches in turn. The loss reduction "valid" likewise divides by the steps that count in
    a microbatch, and the gradient is the mean over microbatches, weighted by examples.

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
        "Number of stages, or the names of the layers with which the second and later stages "
        "begin. Given a number, the cut makes the slowest stage, by operations and bytes, as "
        'fast as possible. The workers form workers / stages pipelines. "auto": the largest '
        "number of stages that the network allows and that divides the workers.",
        default="auto",
    )
    microbatches: int = option(
        Integer(minimum=1),
        "Microbatches of each worker's minibatch, which pass through the stages one after "
        "another. With n stages the pipeline bubble takes (n - 1) / (n microbatches + n - 1) of "
        "the time. Must be 1 if a loss is summed over a minibatch: reduction 'total', or an "
        "AddedLoss.",
        default=2,
    )
    recompute: bool = option(
        Boolean(),
        "Activation checkpointing: whether stages keep only the inputs of a microbatch and "
        "recompute its activations in the backward pass. It costs a third more computation and "
        "saves memory: activations of one microbatch, not of one for each later stage. The last "
        "stage keeps its activations.",
        default=False,
    )

    def check_network(self, conf: Any) -> None:
        super().check_network(conf)
        if self.workers is not None:
            stages_of(conf, self.stages, self.workers)
        if self.microbatches > 1:
            self._check_sums(conf)

    def _check_sums(self, conf: Any) -> None:
        """Raises ConfigError for a loss that sums over the minibatch: microbatches are averaged."""
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
