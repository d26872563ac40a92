"""Protocols of workers: processes that turn a block of records and a state into a contribution."""

from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from sparkdl.data.source import Source
from sparkdl.errors import DivergedError, SparkdlError
from sparkdl.training.workers.contribution import Contribution

MORE_SLOTS = "more slots have come"


class Blocks(Protocol):
    """A data set as blocks of records that stay with the workers.

    `sizes` are the blocks' numbers of records, in order; `seconds` is the time it took to make
    them, by phase; `were_kept` is whether an earlier fit had read the records, and `why_not_kept`
    why the next fit cannot use them, if their origin is the reason.
    """

    sizes: list[int]
    seconds: dict[str, float]
    were_kept: bool
    why_not_kept: str | None

    def close(self, keep: bool = False) -> None:
        """Frees the storage; with `keep`, the records may stay for the next fit."""


@contextmanager
def closing_data(data):
    """Closes the data of a fit at its end: Blocks, or anything with the same `close`.

    The records may stay for the next fit, unless this one fails with a SparkdlError other than
    DivergedError, in which case the data may be at fault.
    """
    keep = True
    try:
        yield data
    except SparkdlError as error:
        keep = isinstance(error, DivergedError)
        raise
    finally:
        data.close(keep)


class Validation(NamedTuple):
    """Validation data, in the form that workers take.

    Parameters
    ----------
    batches : data that the workers' `launch` distributes
    evaluator : Evaluator
    """

    batches: Any
    evaluator: Any


class LaunchedWorkers(Protocol):
    """Workers that were started together and stay until their task ends."""

    def error(self) -> Exception | None:
        """Returns the error of the first worker that failed, or None. Never waits.

        A SparkdlError that a task raised is returned as it is. Any other exception, or the loss of
        a worker's process or executor, gives a WorkerError with its rank and the reason.
        """

    def is_finished(self) -> bool:
        """Returns whether every task has returned. Never waits."""

    def is_queued(self) -> bool:
        """Returns whether they await the end of other work of this driver, before they begin."""

    def stop(self) -> None:
        """Stops and drops what still runs, within some seconds; may be called twice."""


class Workers(Protocol):
    """A number of workers; implemented by LocalWorkers and SparkWorkers.

    A task of `run_round` is a module-level function, or a partial of one: `task(shared, number,
    block)`, given the data shared by all workers, the number of a block, and the block. It returns
    a Contribution. `host` is the name or address by which workers know the host of this process.
    """

    size: int
    host: str

    def load(self, data: Source, schema, size: int, options) -> Blocks:
        """Reads the data once and deals it into blocks of `size` records.

        Parameters
        ----------
        data : Source
            SparkWorkers: SparkRecords.
        schema : Schema
            Of the records, for `Schema.check`.
        size : int
        options : TrainingMaster
            Its repartition, seed and storage_level count.

        Raises
        ------
        DataError
            For the first unusable record, or if there are none.
        """

    def run_round(
        self, task, blocks: Blocks, chosen: list[int], shared: Any, depth: int
    ) -> Contribution:
        """Returns the contributions of a task per chosen block, summed in the order of `chosen`.

        Parameters
        ----------
        task : module-level function, or a partial of one
        blocks : Blocks
            Returned by `load` of these workers.
        chosen : list of int
            Numbers of blocks.
        shared : object
            The same for all workers.
        depth : int
            Of the tree in which workers sum contributions; with 1 this process adds them all.

        Raises
        ------
        WorkerError
            If a worker fails for good; names the worker and what it was doing.
        """

    def keep_size(self, size: int) -> None:
        """Takes the size of a fit that is resumed, unless the workers have a size of their own.

        A fit's weights depend on its number of workers, not on how many of them run at once.
        """

    def check_result(self, nbytes: int, depth: int) -> None:
        """Raises ConfigError if contributions of `run_round` with so many bytes cannot be sent."""

    def room(self) -> int:
        """Returns the number of workers that can be launched; at a restart it may be smaller."""

    def reason_to_move(self) -> str | None:
        """Returns why workers should be relaunched on the slots available now, or None.

        MORE_SLOTS: fewer workers would share each task.
        """

    def move(self, reason: str) -> None:
        """Announces the reason for the next launch: no worker was lost, and none is running."""

    def obstacle(self) -> str | None:
        """Returns why `launch` cannot run the workers, or None if it can."""

    def launch(self, task, blocks: Blocks, shares, shared: Any, validation=None) -> LaunchedWorkers:
        """Starts `task` once in each of len(shares) workers, all together, and returns at once.

        A worker calls `task(shared, rank, blocks, validation)`. `blocks` is an iterator of (number,
        Batch) over its share, once; a block may come in several pieces, and pieces in any order.
        `validation` is an iterator of the Batches of its share of the validation data, or None
        without any. A task consumes all of `blocks`, then all of `validation`. Its result is
        discarded. Workers must find each other by themselves; `shared` may say where.

        Parameters
        ----------
        task : module-level function, or a partial of one
        blocks : Blocks
            Returned by `load` of these workers.
        shares : sequence of sequences of int
            For each rank the numbers of its blocks: all blocks once; a share may be empty.
        shared : object
            The same for all workers.
        validation : data that these workers can distribute, or None
            LocalWorkers: an iterable of Batch; SparkWorkers: an RDD of Batch and Failure.

        Raises
        ------
        ConfigError
            If not all can run at once; says how many can.
        """

    def other_memory(self) -> dict[str, int]:
        """Returns the peak bytes of participating processes that are no workers: {name: bytes}."""

    def close(self) -> None:
        """Ends the processes, if they are ours."""
