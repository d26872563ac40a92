"""What trains: processes that each take a block of records and a state, and give a contribution."""

from typing import Any, Protocol

from sparkdl.data.source import Source
from sparkdl.training.aggregate import Contribution


class Blocks(Protocol):
    """A data set as blocks of records that stay with the workers.

    `sizes` are their numbers of records, in order; `close()` frees what they take.
    """

    sizes: list[int]

    def close(self) -> None: ...


class Workers(Protocol):
    """A number of workers; LocalWorkers and SparkWorkers.

    A task is a function of a module, or a partial of one: `task(shared, number, block)`, given
    what all workers share, the number of a block, and the block. It returns a Contribution.
    """

    size: int

    def load(self, data: Source, schema, size: int, options) -> Blocks:
        """Read the data once and deal it into blocks of `size` records.

        Raises
        ------
        DataError
            For the first record that cannot be used, and where there are none.
        """

    def sum(self, task, blocks: Blocks, chosen: list[int], shared: Any, depth: int) -> Contribution:
        """The contributions of one task per chosen block, added in the order of `chosen`.

        Raises
        ------
        WorkerError
            Where a worker fails for good; says which, and what it was doing.
        """

    def close(self) -> None:
        """End the processes, where they are ours."""
