"""Block momentum: the average of independently trained workers, filtered with momentum."""

import math
from typing import Any

from sparkdl.config import Boolean, Integer, Number, dataclass, option
from sparkdl.errors import require
from sparkdl.training.masters.base import ResidentMaster
from sparkdl.training.masters.block_momentum.worker import BlockMomentumWorker


@dataclass(frozen=True, kw_only=True)
class BlockMomentum(ResidentMaster):
    """Parameter averaging with block momentum (BMUF).

    Each worker trains on a block alone. With G, the change of the workers' mean, weighted by
    examples, since the start of the block, all workers take the step

        step = m * step + block_learning_rate * G

    With m = 0 that is parameter averaging; with m = 1 - 1/N for N workers, the progress of each
    worker counts in full in the end. The fit's weights are those after the step; with Nesterov
    momentum the next block starts a further m * step ahead of them. Snapshots and checkpoints
    include the step. A listener's every_updates, or validate_every, that falls into a block ends it
    with a step: choose a multiple of the minibatches of a block.

    This follows the paper. CNTK differs in two points: it multiplies the rate by N * (1 - m), which
    is 1 unless m is set; and with Nesterov momentum it takes the next step from the start of the
    block, and so moves 1 + m times as far.

    References
    ----------
    Chen and Huo, Scalable training of deep learning machines by incremental block training with
    intra-block parallel optimization and blockwise model-update filtering (2016). CNTK
    block_momentum_distributed_learner, whose options and defaults these are.
    """

    block_size_per_worker: int = option(
        Integer(minimum=1),
        "Examples that a worker trains on between two averages. (CNTK's 120000 are frames of "
        "speech.)",
        default=1280,
    )
    block_momentum: float | None = option(
        Number(minimum=0, below=1),
        "m. None: 1 - 1/N, which is 0 for one worker, unless there is a time constant.",
        default=None,
    )
    block_momentum_as_time_constant: float | None = option(
        Number(above=0),
        "Time constant in examples of all workers: m = exp(-block_size_per_worker * N / time "
        "constant).",
        default=None,
    )
    use_nesterov_momentum: bool = option(
        Boolean(),
        "Whether the next block starts a further m * step ahead (Nesterov momentum).",
        default=True,
    )
    reset_sgd_momentum_after_aggregation: bool = option(
        Boolean(),
        "Whether to reset the optimizer state at each block; otherwise it is averaged.",
        default=True,
    )
    block_learning_rate: float = option(Number(above=0), "Factor of G in the step.", default=1.0)

    def validate(self) -> None:
        super().validate()
        minimum = self.batch_size_per_worker
        holds = self.block_size_per_worker >= minimum
        require(self, "block_size_per_worker", holds, f"an integer >= {minimum}")
        name = "block_momentum_as_time_constant"
        holds = self.block_momentum is None or getattr(self, name) is None
        require(self, name, holds, "None where block_momentum is given")

    @property
    def records_per_block(self) -> int:
        return self.block_size_per_worker

    @property
    def minibatches_per_round(self) -> int:
        return -(-self.block_size_per_worker // self.batch_size_per_worker)

    @property
    def average_optimizer_state(self) -> bool:
        return not self.reset_sgd_momentum_after_aggregation

    @property
    def ema_cure(self) -> str:
        if self.average_optimizer_state:
            return ""
        return (
            "give reset_sgd_momentum_after_aggregation=False, as the average is part of the "
            "optimizer's state"
        )

    def momentum_of(self, workers: Any) -> float:
        """Returns the block momentum for this number of workers."""
        if self.block_momentum is not None:
            return self.block_momentum
        if self.block_momentum_as_time_constant is not None:
            examples = self.block_size_per_worker * workers
            return math.exp(-examples / self.block_momentum_as_time_constant)
        return 1 - 1 / workers

    def strategy(self, worker: Any) -> Any:
        return BlockMomentumWorker(self, worker)
