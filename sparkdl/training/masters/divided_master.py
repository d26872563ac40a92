"""Base class of masters that split a network over workers."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from sparkdl.config import Integer, dataclass, option
from sparkdl.errors import ConfigError, require
from sparkdl.nn.execution.device import choose_backend
from sparkdl.nn.optimization.vector_part import VectorPart
from sparkdl.training.masters import divided_state
from sparkdl.training.masters.base import ResidentMaster


@dataclass(frozen=True, kw_only=True)
class DividedMaster(ResidentMaster, abstract=True):
    """A master that splits each copy of the network over workers, which exchange activations.

    Workers with adjacent ranks hold one copy; the parts have the same order in each copy.
    """

    divided: ClassVar[str]  # name of the workers' parts in error messages

    updates_per_round: int = option(
        Integer(minimum=1),
        "Updates per round. Each round ends with a report, and workers get each other's buffers.",
        default=10,
    )

    @abstractmethod
    def refusals(self, conf: Any) -> Iterable[str]:
        """Yields descriptions of the network's features that this master does not support."""

    @abstractmethod
    def parts(self, conf: Any, workers: int) -> Sequence[VectorPart]:
        """Returns the part of the parameters that each worker of one copy of the network holds.

        Raises
        ------
        ConfigError
            If this number of workers cannot hold the network.
        """

    def validate(self) -> None:
        super().validate()
        require(self, "codec", self.codec is None, "None", "activations have no codec")
        no_gpu = self.device != "cuda" and self.exchange != "nccl"
        require(self, "device", no_gpu, "'cpu'", f"{self.divided} compute on CPUs only so far")

    def check_network(self, conf: Any) -> None:
        super().check_network(conf)
        for what in self.refusals(conf):
            raise ConfigError(
                f"{type(self).__name__} needs a network without {what}; take AllReduceSGD, or "
                "leave it out"
            )

    @property
    def minibatches_per_round(self) -> int:
        return self.updates_per_round

    def processor(self) -> str:
        """Returns the CPU backend of this worker; raises ConfigError if it would use a GPU."""
        backend: str = choose_backend(self.device, self.backend)
        if backend == "cuda":
            raise ConfigError(
                f"{type(self).__name__}.device must be 'cpu' where there is a GPU, got "
                f"{self.device!r}; {self.divided} compute on CPUs only so far"
            )
        return backend

    def divide_state(self, conf: Any, state: Any, workers: int) -> Any:
        parts = self.parts(conf, workers)
        return divided_state.divide_state(conf, state, lambda rank: parts[rank % len(parts)])

    def join_state(self, conf: Any, fields: Any, sent: Any) -> Any:
        parts = self.parts(conf, len(fields["worker_states"]))
        return divided_state.join_state(conf, fields, parts)
