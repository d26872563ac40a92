"""Workers that are processes of this machine: for tests, notebooks and single large hosts."""

import os
import signal
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Timer
from traceback import clear_frames
from typing import Any, ClassVar

from sparkdl.config import is_integer
from sparkdl.data.batches.batch import Batch
from sparkdl.data.batches.dealing import assemble_block, deal
from sparkdl.data.source import read_splits
from sparkdl.errors import ConfigError, WorkerError
from sparkdl.nn.execution.device import restrict_gpus
from sparkdl.training.workers.contribution import Failure, tree_total
from sparkdl.training.workers.fork_server.contexts import OF_A_FIT, process_context
from sparkdl.training.workers.fork_server.process_end import describe_end, kill_process
from sparkdl.training.workers.frozen_modules import freeze_modules
from sparkdl.training.workers.local_launch import LocalLaunchedWorkers
from sparkdl.training.workers.main_script import UNGUARDED, WORKER, check_script, unguarded_error

GRACE = 5.0  # seconds for an idle process to end by itself
MODULES = ["sparkdl.training.workers.local", *OF_A_FIT]
PROCESSES = process_context(MODULES)  # a fork of this process would lack libraries' threads


@dataclass(frozen=True, eq=False)
class LocalBlocks:
    """Blocks in this process's memory; each round sends workers the ones they train on."""

    blocks: list[Batch]
    seconds: dict[str, float] = field(default_factory=dict)
    were_kept: ClassVar[bool] = False
    why_not_kept: ClassVar[str | None] = None

    @property
    def sizes(self) -> list[int]:
        return [len(block) for block in self.blocks]

    def close(self, keep: bool = False) -> None:
        self.blocks.clear()


class LocalWorkers:
    """Processes on this machine.

    They are no forks of this process: a fork loses the threads of other libraries and may then wait
    for them forever. A script that uses them therefore needs `if __name__ == "__main__":`.

    Parameters
    ----------
    size : int
        Number of workers.
    timeout : float
        Longest wait for a worker's result, in seconds.
    threads : int or None
        Threads per worker. None: the cores divided by the workers.
    """

    def __init__(self, size: int = 2, timeout: float = 600.0, threads: int | None = None) -> None:
        if not is_integer(size, 1):
            raise ConfigError(f"LocalWorkers.size must be an integer >= 1, got {size!r}")
        self.size, self.timeout, self.host = int(size), timeout, "127.0.0.1"
        self.threads = threads or max(1, (os.cpu_count() or 1) // size)
        self._processes: list[WorkerProcess] = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def load(self, data: Any, schema: Any, size: int, options: Any) -> Any:
        """Reads a source in this process and deals its records into blocks; see Workers.load."""
        self._check_script()
        start = time.perf_counter()
        parts = read_splits(data, schema)
        counts = [sum(map(len, part)) for part in parts]
        read_end = time.perf_counter()
        nbytes = sum(batch.nbytes for part in parts for batch in part)
        dealing = deal(counts, nbytes, size, self.size, options.repartition, options.seed or 0)
        pieces: list[list[Batch]] = [[] for _ in dealing.sizes]
        for partition, part in enumerate(parts):
            for block, piece in dealing.pieces(partition, part):
                pieces[block].append(piece)
        blocks = [assemble_block(piece) for piece in pieces]
        seconds = {"reading": read_end - start, "balance": time.perf_counter() - read_end}
        return LocalBlocks(blocks, seconds)

    def run_round(self, task: Any, blocks: Any, chosen: Any, shared: Any, depth: int) -> Any:
        """Runs the task on each chosen block, a block a worker; see Workers.run_round."""
        self._start()
        jobs = list(zip(self._processes[: len(chosen)], chosen, strict=True))
        try:
            for worker, number in jobs:
                worker.send(BlockJob(task, shared, number, blocks.blocks[number]))
            results = [(rank, worker.receive()) for rank, (worker, _) in enumerate(jobs)]
        except BaseException:
            self._kill()  # late results would be mistaken for those of the next round
            raise
        start = time.perf_counter()
        result = tree_total(results, len(results), depth)
        result.averaging += time.perf_counter() - start
        return result

    def keep_size(self, size: int) -> None:
        """Does nothing: these workers were given their size."""

    def check_result(self, nbytes: int, depth: int) -> None:
        """Accepts contributions of any size."""

    def room(self) -> int:
        """Returns the number of workers; see Workers.room."""
        return self.size

    def reason_to_move(self) -> str | None:
        """Returns None: each worker has a process of its own."""
        return None

    def move(self, reason: str) -> None:
        """Does nothing: there are no other slots."""

    def other_memory(self) -> dict[str, int]:
        """Returns nothing: all processes are workers, or the driver."""
        return {}

    def obstacle(self) -> str | None:
        """Returns None: processes of this machine run all at once."""
        return None

    def launch(
        self, task: Any, blocks: Any, shares: Any, shared: Any, validation: Any = None
    ) -> Any:
        """Starts processes that stay for the whole fit; see Workers.launch."""
        if len(shares) > self.size:
            raise ConfigError(f"there is room for {self.size} workers, got {len(shares)}")
        self._start()
        processes = self._processes[: len(shares)]
        return LocalLaunchedWorkers(processes, self._kill, task, blocks, shares, shared, validation)

    def close(self) -> None:
        """Ends the processes; the next round starts new ones."""
        for worker in self._processes:
            worker.pipe.close()  # an idle one ends when its owner hangs up
        for worker in self._processes:
            worker.process.join(GRACE)
        self._kill()

    def _check_script(self) -> None:
        if len(self._processes) < self.size:
            check_script()

    def _start(self) -> None:
        self._check_script()
        for rank in range(len(self._processes), self.size):
            self._processes.append(WorkerProcess(rank, self.threads, self.timeout))

    def _kill(self) -> None:
        for worker in self._processes:
            worker.kill()
        self._processes = []


class WorkerProcess:
    """A worker process, as seen by its owner."""

    def __init__(self, rank, threads, timeout):
        self.rank, self.timeout = rank, timeout
        self.pipe, far = PROCESSES.Pipe()
        options = {"name": WORKER, "daemon": True}
        self.process = PROCESSES.Process(target=serve, args=(far, threads, rank), **options)
        self.process.start()
        far.close()

    def __str__(self) -> str:
        return f"worker {self.rank} (process {self.process.pid})"

    def send(self, job):
        """Sends a job; raises WorkerError if the process has ended or does not take it in time."""
        with self._in_time("did not take its part of a round"):
            self.pipe.send(job)

    def receive(self):
        """Returns the last job's result; WorkerError if the process ends or takes too long."""
        with self._in_time("no result of a round"):
            return self.pipe.recv()

    def kill(self) -> None:
        """Kills the process, whatever it does, and waits until it is gone."""
        self.pipe.close()
        kill_process(self.process, self)

    @contextmanager
    def _in_time(self, late):
        """Kills the process after the timeout: pipes have none, but then hang up."""
        expired = Event()
        watch = Timer(self.timeout, lambda: (expired.set(), self.process.kill()))
        try:
            watch.start()  # inside `try`, so that an interrupt cannot leave it running
            yield
        except (EOFError, OSError) as error:
            clear_frames(error.__traceback__)  # they have a copy of the job
            if expired.is_set():
                raise WorkerError(f"{self}: {late} within {self.timeout} s") from None
            raise self.loss_error("in the middle of a round") from None
        finally:
            watch.cancel()

    def loss_error(self, when):
        """Returns the error for a process that has hung up."""
        self.process.join(GRACE)
        if self.process.exitcode == UNGUARDED:
            return unguarded_error()
        return WorkerError(f"{self}: ended with {describe_end(self.process)} {when}")


def serve(pipe, threads, rank=0):
    """Runs jobs as a worker until the owner hangs up."""
    restrict_gpus((), turn=rank)  # GPUs are assigned in turn
    os.environ["OMP_NUM_THREADS"] = str(threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the owner, which then hangs up
    with suppress(EOFError, OSError):  # the owner has hung up
        while True:
            pipe.send(serve_job(pipe))


def serve_job(pipe):
    """Runs the next job and returns its result."""
    try:
        job = pipe.recv()
    except (EOFError, OSError):
        raise
    except Exception as error:  # usually a task that this process cannot import
        return Failure(error, "a job cannot be read")
    freeze_modules()
    return job.run(pipe)


@dataclass(frozen=True)
class BlockJob:
    """A task of `run_round` on one block."""

    task: Any
    shared: Any
    number: int
    block: Batch

    def run(self, pipe):
        """Runs in the process; returns the task's result, or a Failure."""
        try:
            return self.task(self.shared, self.number, self.block)
        except Exception as error:
            return Failure(error, f"block {self.number}")
