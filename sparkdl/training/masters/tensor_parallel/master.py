"""Tensor parallelism: each worker has a part of the units of each layer."""

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
    """Each worker has some units of the dense layers, and some heads of attention layers.

    It is training on the joint minibatch of all workers, as with AllReduceSGD. Neighboring workers
    hold one network: each gets the minibatches of all of them, and computes its part of the layers
    for the joint one. Instead of gradients of all parameters, activations travel; and a worker has
    its part of the parameters and of the optimizer's state alone.

    Divided are Dense and Output, by columns, or by rows behind a Dense by columns where nothing but
    activation functions and Dropout stand between; the softmax of an Output with its cross entropy;
    and SelfAttention, MultiHeadAttention and LearnedSelfAttention by heads. Where the workers do
    not divide the units or heads, where layers share parameters, and in all other layers, each
    worker computes the layer whole. Layers that look at a whole batch, such as BatchNorm, look at
    the joint one.

    References
    ----------
    Shoeybi et al., Megatron-LM: training multi-billion parameter language models using model
    parallelism (2019). Torch's torch.distributed.tensor.parallel.
    """

    divided: ClassVar[str] = "parts of layers"

    degree: str | int = option(
        Either(of=(Choice(of=("auto",)), Integer(minimum=1))),
        "Workers that hold a network together. There are as many networks as the workers are times "
        'that, and they sum gradients. "auto": all workers hold one.',
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
