"""Tensor parallelism: each worker has a part of the units of each layer."""

from typing import Any

from sparkdl.config import Choice, Either, Integer, dataclass, option
from sparkdl.errors import ConfigError, require
from sparkdl.nn.execution.split_network import SplitNetwork
from sparkdl.nn.optimization.network_part import whole_vector_members
from sparkdl.training.masters import divided_state
from sparkdl.training.masters.base import ResidentMaster
from sparkdl.training.masters.tensor_parallel.groups import Place, degree_of
from sparkdl.training.masters.tensor_parallel.worker import TensorWorker, split_replica


@dataclass(frozen=True, kw_only=True)
class TensorParallel(ResidentMaster):
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

    degree: str | int = option(
        Either(of=(Choice(of=("auto",)), Integer(minimum=1))),
        "Workers that hold a network together. There are as many networks as the workers are times "
        'that, and they sum gradients. "auto": all workers hold one.',
        default="auto",
    )
    updates_per_round: int = option(
        Integer(minimum=1),
        "Updates of a round. After a round there is a report, and networks average buffers.",
        default=10,
    )

    def validate(self) -> None:
        super().validate()
        require(self, "codec", self.codec is None, "None", "activations have no codec")
        no_gpu = self.device != "cuda" and self.exchange != "nccl"
        require(self, "device", no_gpu, "'cpu'", "parts of layers compute on processors as yet")

    def check_network(self, conf: Any) -> None:
        super().check_network(conf)
        for what in refusals(conf):
            raise ConfigError(
                f"TensorParallel needs a network without {what}; take AllReduceSGD, or leave it out"
            )
        if self.workers is not None:
            degree_of(self, self.workers)

    @property
    def minibatches_per_round(self) -> int:
        return self.updates_per_round

    def strategy(self, worker: Any) -> Any:
        return TensorWorker(self, worker)

    def replica(self, setup: Any, group: Any, share: Any) -> Any:
        return split_replica(self, setup, group, share)

    def divide_state(self, conf: Any, state: Any, workers: int) -> Any:
        parts = self._parts(conf, workers)
        return divided_state.divide_state(conf, state, lambda rank: parts[rank % len(parts)])

    def join_state(self, conf: Any, fields: Any) -> Any:
        parts = self._parts(conf, len(fields["worker_states"]))
        return divided_state.join_state(conf, fields, parts)

    def _parts(self, conf: Any, workers: int) -> list[Any]:
        """Returns the VectorPart of the parameters that each worker of a network has."""
        degree = degree_of(self, workers)
        return [SplitNetwork(conf, Place(rank, degree)).part for rank in range(degree)]


def refusals(conf: Any) -> Any:
    """Yields in words what a network has that is not trained in parts."""
    if conf.replica_class is not None:
        yield "a module of another framework"
    if conf.dtype == "bfloat16":
        yield "dtype 'bfloat16': what workers sum is float32"
    yield from whole_vector_members(conf)
