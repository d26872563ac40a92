"""Tensor parallelism: each worker holds part of the units of each layer."""

from collections.abc import Iterator
from typing import Any, ClassVar

from sparkdl.config import Choice, Either, Integer, dataclass, option
from sparkdl.nn.execution.split_network import network_parts
from sparkdl.nn.optimization.network_part import whole_vector_members
from sparkdl.nn.optimization.vector_part import VectorPart
from sparkdl.training.masters.divided_master import DividedMaster
from sparkdl.training.masters.tensor_parallel.groups import degree_of
from sparkdl.training.masters.tensor_parallel.worker import TensorWorker, split_replica


@dataclass(frozen=True, kw_only=True)
class TensorParallel(DividedMaster):
    """Tensor parallelism: each worker has some units of dense layers and some attention heads.

    It is equivalent to training on the joint minibatch of all workers, as with AllReduceSGD.
    Neighboring workers hold one network: each receives the minibatches of all of them and computes
    its part of the layers. Workers send activations instead of the gradients of all parameters, and
    store only their part of the parameters and optimizer state.

    These layers are split: Dense and Output by columns, or by rows after a column-split Dense with
    only activation functions and Dropout in between; the softmax of an Output with its cross
    entropy; SelfAttention, MultiHeadAttention and LearnedSelfAttention by heads. Each worker
    computes all other layers in full, and also layers that share parameters or whose units or heads
    the workers do not divide evenly. Layers that compute batch statistics, such as BatchNorm, see
    the joint minibatch.

    References
    ----------
    Shoeybi et al., Megatron-LM: training multi-billion parameter language models using model
    parallelism (2019). Torch's torch.distributed.tensor.parallel.
    """

    divided: ClassVar[str] = "parts of layers"

    degree: str | int = option(
        Either(of=(Choice(of=("auto",)), Integer(minimum=1))),
        "Workers that hold one network together. The workers / degree networks sum their "
        'gradients. "auto": all workers hold one network.',
        default="auto",
    )

    def check_network(self, conf: Any) -> None:
        super().check_network(conf)
        if self.workers is not None:
            degree_of(self, self.workers)

    def strategy(self, worker: Any) -> Any:
        return TensorWorker(self, worker)

    def replica(self, setup: Any, group: Any, share: Any) -> Any:
        return split_replica(self, setup, group, share)

    def parts(self, conf: Any, workers: int) -> tuple[VectorPart, ...]:
        return network_parts(conf, degree_of(self, workers))

    def refusals(self, conf: Any) -> Iterator[str]:
        if conf.replica_class is not None:
            yield "a module of another framework"
        if conf.dtype == "bfloat16":
            yield "dtype 'bfloat16': what workers sum is float32"
        yield from whole_vector_members(conf)
