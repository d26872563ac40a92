"""A worker that is this process itself, for many small networks trained side by side."""

import time
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from sparkdl.data.batches.batch import Batch
from sparkdl.data.source import read_splits
from sparkdl.training.workers.contribution import unwrap


@dataclass(frozen=True, eq=False)
class OneBlock:
    """All records as one block, so that a round is an epoch and needs no averaging in between."""

    block: Batch
    seconds: dict[str, float] = field(default_factory=dict)
    were_kept: ClassVar[bool] = False
    why_not_kept: ClassVar[str | None] = None

    @property
    def sizes(self) -> list[int]:
        return [len(self.block)]

    def close(self, keep: bool = False) -> None:
        """Frees nothing: the records are the caller's."""


class ThisProcess:
    """A worker without a process of its own; runs rounds of the driver one after the other.

    The weights are bitwise those of LocalWorkers(1) with equally long rounds.
    """

    size, host = 1, "127.0.0.1"

    def load(self, data: Any, schema: Any, size: int, options: Any) -> OneBlock:
        """Reads and checks a source, leaving its records in this process; see Workers.load."""
        start = time.perf_counter()
        batch = Batch.concat([*chain.from_iterable(read_splits(data, schema))])
        return OneBlock(in_order(batch), {"reading": time.perf_counter() - start})

    def run_round(self, task: Any, blocks: Any, chosen: Any, shared: Any, depth: int) -> Any:
        """Runs the task on the only block; see Workers.run_round."""
        [number] = chosen
        return unwrap(task(shared, number, blocks.block))

    def keep_size(self, size: int) -> None:
        """Does nothing: there is one worker."""

    def check_result(self, nbytes: int, depth: int) -> None:
        """Accepts contributions of any size: nothing is sent."""

    def room(self) -> int:
        """Returns 1; see Workers.room."""
        return 1

    def reason_to_move(self) -> str | None:
        """Returns None: there is one worker."""
        return None

    def move(self, reason: str) -> None:
        """Does nothing: there are no other slots."""

    def obstacle(self) -> str | None:
        """Returns why workers cannot be resident: there is no process for them."""
        return "the only worker is this process"

    def other_memory(self) -> dict[str, int]:
        """Returns {}: there is no other process."""
        return {}

    def close(self) -> None:
        """Ends nothing."""


def in_order(batch):
    """Returns the batch with its records sorted by id, or itself if they are."""
    if (np.diff(batch.ids.astype(np.int64)) >= 0).all():
        return batch
    return batch.take(np.argsort(batch.ids, kind="stable"))
