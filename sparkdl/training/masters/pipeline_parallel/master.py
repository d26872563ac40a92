"""Pipeline parallelism: workers have stages of the network, and microbatches pass through them."""

from typing import Any

from sparkdl.config import Boolean, Choice, Either, Integer, Sequence, Text, dataclass, option
from sparkdl.errors import ConfigError, require
from sparkdl.nn.clipping import ClipNorm
from sparkdl.nn.optimization.loss_scale import FLOAT16
from sparkdl.nn.optimization.vector_part import VectorPart
from sparkdl.training.masters import divided_state
from sparkdl.training.masters.base import ResidentMaster
from sparkdl.training.masters.pipeline_parallel.cuts import stages_of
from sparkdl.training.masters.pipeline_parallel.worker import PipelineWorker, stage_replica


@dataclass(frozen=True, kw_only=True)
class PipelineParallel(ResidentMaster):
    """Each worker has some neighboring layers; microbatches pass through all workers and back.

    It is training on the joint minibatch of all workers, as with AllReduceSGD. Each worker reads
    minibatches; the first stage gets the features of all, the last one the labels. Instead of
    gradients of all parameters, activations of a few layers travel; and a worker has the
    parameters, the optimizer state and the activations of its layers alone.

    Layers that look at a whole batch, such as BatchNorm, look at a microbatch; running means see
    all microbatches in turn.

    References
    ----------
    Huang et al., GPipe: efficient training of giant neural networks using pipeline parallelism
    (2019). Narayanan et al., PipeDream (2019): one forward, one backward. Torch's
    torch.distributed.pipelining.
    """

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
        "and empties.",
        default=2,
    )
    recompute: bool = option(
        Boolean(),
        "Whether stages keep only the inputs of a microbatch until its gradients come back, and "
        "compute its activations again then: a third more computation, for the memory of one "
        "microbatch in place of as many as there are stages behind. The last stage keeps them.",
        default=False,
    )
    updates_per_round: int = option(
        Integer(minimum=1),
        "Updates of a round. After a round there is a report, and all get the buffers of all.",
        default=10,
    )

    def validate(self) -> None:
        super().validate()
        require(self, "codec", self.codec is None, "None", "what stages pass has no codec")
        no_gpu = self.device != "cuda" and self.exchange != "nccl"
        require(self, "device", no_gpu, "'cpu'", "stages compute on processors as yet")

    def check_network(self, conf: Any) -> None:
        super().check_network(conf)
        for what, is_there in refusals(conf):
            if is_there:
                raise ConfigError(
                    f"PipelineParallel needs a network without {what}; take AllReduceSGD, or "
                    "leave it out"
                )
        if self.workers is not None:
            stages_of(conf, self.stages, self.workers)

    @property
    def minibatches_per_round(self) -> int:
        return self.updates_per_round

    def strategy(self, worker: Any) -> Any:
        return PipelineWorker(self, worker)

    def replica(self, setup: Any, group: Any, share: Any) -> Any:
        return stage_replica(self, setup, group, share)

    def divide_state(self, conf: Any, state: Any, workers: int) -> Any:
        parts = self._parts(conf, workers)
        return divided_state.divide_state(conf, state, lambda rank: parts[rank % len(parts)])

    def join_state(self, conf: Any, fields: Any) -> Any:
        parts = self._parts(conf, len(fields["worker_states"]))
        return divided_state.join_state(conf, fields, parts)

    def _parts(self, conf: Any, workers: int) -> list[VectorPart]:
        """Returns the part of the parameters that each stage has."""
        stages = stages_of(conf, self.stages, workers)
        return [VectorPart((stage.section.part,)) for stage in stages]


def refusals(conf: Any) -> "list[tuple[str, bool]]":
    """Returns [(what a network may have, whether it has it)] of what no pipeline trains."""
    return [
        ("a module of another framework", conf.replica_class is not None),
        ("dtype 'float16', whose loss scale looks at all gradients", conf.dtype == FLOAT16),
        ("ClipNorm, which looks at all gradients", isinstance(conf.clipping, ClipNorm)),
    ]
