"""Bases of the workers: processes that turn a block of records and a state into a contribution."""

from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from sparkdl.data.source import Source
from sparkdl.errors import DivergedError, SparkdlError
from sparkdl.training.workers.contribution import Contribution

MORE_SLOTS = "more slots have come"


class Blocks(Protocol):
    """A data set as blocks of records that stay with the workers.

    `sizes` are their numbers of records, in order; `seconds` is what making them took, by phase;
    `were_kept` is whether their records were read by an earlier fit.
    """

    sizes: list[int]
    seconds: dict[str, float]
    were_kept: bool

    def close(self, keep: bool = False) -> None:
        """Frees what they take; with `keep`, the records may stay for the next fit."""


@contextmanager
def closing_data(data):
    """Closes the data of a fit in the end: Blocks, or what else has their `close`.

    Its records may stay for the next fit unless this one fails by an error of ours: the data may be
    at fault, but not where weights diverge.
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
    """Data to evaluate on, as workers take it.

    Parameters
    ----------
    batches : what `launch` of the workers deals out
    evaluator : Evaluator
    """

    batches: Any
    evaluator: Any


class LaunchedWorkers(Protocol):
    """Workers that were started together and stay until their task ends."""

    def error(self) -> Exception | None:
        """Returns why the first worker that failed did; None while all is well. Never waits.

        A SparkdlError that a task raised is given as it is. A worker whose process or executor is
        gone is a WorkerError that names its rank and how it ended; so is any other exception.
        """

    def is_finished(self) -> bool:
        """Returns whether every task has returned. Never waits."""

    def stop(self) -> None:
        """Ends what still runs, within some seconds, and forgets it; may be called twice."""


class Workers(Protocol):
    """A number of workers; LocalWorkers and SparkWorkers.

    A task of `run_round` is a module function, or a partial of one: `task(shared, number, block)`,
    given what all workers share, the number of a block, and the block. It returns a Contribution.
    `host` is the name or address by which workers know the host of this process.
    """

    size: int
    host: str

    def load(self, data: Source, schema, size: int, options) -> Blocks:
        """Reads the data once and deals it into blocks of `size` records.

        Raises
        ------
        DataError
            For the first record that cannot be used, and where there are none.
        """

    def run_round(
        self, task, blocks: Blocks, chosen: list[int], shared: Any, depth: int
    ) -> Contribution:
        """Returns the contributions of a task per chosen block, summed in the order of `chosen`.

        Raises
        ------
        WorkerError
            Where a worker fails for good; says which, and what it was doing.
        """

    def room(self) -> int:
        """Returns how many workers can be launched now; at a restart it may be fewer."""

    def reason_to_move(self) -> str | None:
        """Returns in words why workers should be launched anew, on the slots that there are now.

        MORE_SLOTS: those that share a task would share it with fewer. None: they are well placed.
        """

    def move(self, reason: str) -> None:
        """Says that the next launch is for this reason: no worker was lost, and none waits."""

    def obstacle(self) -> str | None:
        """Returns why `launch` cannot run the workers, in words; None where it can."""

    def launch(self, task, blocks: Blocks, shares, shared: Any, validation=None) -> LaunchedWorkers:
        """Starts `task` once in each of len(shares) workers, all together, and returns at once.

        A worker calls `task(shared, rank, blocks, validation)`. `blocks` is an iterator of
        (number, Batch) over its share, once; a block may come in several pieces, and pieces in
        any order. `validation` is an iterator of the Batches that are its share of the data to
        evaluate on, None where there is none. A task takes all of `blocks` first, then all of
        `validation`. What it returns is not kept. How workers find each other is the task's own
        matter: `shared` may say where.

        Parameters
        ----------
        task : function of a module, or a partial of one
        blocks : Blocks
            What `load` of these workers gave.
        shares : sequence of sequences of int
            For each rank the numbers of its blocks: all blocks once; a share may be empty.
        shared : object
            The same for all workers.
        validation : what these workers can deal out, or None
            LocalWorkers: an iterable of Batch; SparkWorkers: an RDD of Batch and Failure.

        Raises
        ------
        ConfigError
            Where there is no room for so many at once; says for how many there is.
        """

    def other_memory(self) -> dict[str, int]:
        """Returns the most bytes of processes that take part and are no workers: {name: bytes}."""

    def close(self) -> None:
        """Ends the processes, where they are ours."""
