"""Resident worker processes on this machine, which stay for a whole fit."""

import gc
import logging
from dataclasses import dataclass
from threading import Thread
from typing import Any

from sparkdl.error_messages import error_from_json, error_to_json
from sparkdl.errors import PeerError, SparkdlError
from sparkdl.training.workers.contribution import Failure

log = logging.getLogger(__name__)
END = "end"  # sent after the blocks, and after the validation batches
SENDING = "records were still being sent %g s after the end of a fit; its workers are killed"
READING = "a thread still reads records of the last fit, %g s after its workers were killed"
FEEDING = 30.0  # seconds for records on their way once the processes have ended their tasks


@dataclass(frozen=True)
class ResidentJob:
    """The job of a process: a task for one of several ranks. Records follow."""

    task: Any
    shared: Any
    rank: int
    evaluates: bool

    def run(self, pipe):
        """Runs in the process; returns None, or a Failure."""
        validation = receive_items(pipe) if self.evaluates else None
        try:
            self.task(self.shared, self.rank, receive_items(pipe), validation)
        except Exception as error:
            return Failure(error, f"worker {self.rank}")
        gc.collect()  # the process stays: frees a group's memory, which is held in cycles
        return None


def receive_items(pipe):
    """Yields items until the owner sends END."""
    while (item := pipe.recv()) != END:
        yield item


class LocalLaunchedWorkers:
    """LaunchedWorkers that are processes of this machine.

    Parameters
    ----------
    processes : list of WorkerProcess
        One for each rank; idle.
    give_up : function ()
        Kills all processes, whatever they do.
    """

    def __init__(self, processes, give_up, task, blocks, shares, shared, validation):
        self._left, self._give_up, self._error = dict(enumerate(processes)), give_up, None
        self._feeder, self._stopped = None, False
        evaluates = validation is not None
        try:
            for rank, process in enumerate(processes):
                process.send(ResidentJob(task, shared, rank, evaluates))
        except BaseException:
            self.stop()
            raise
        self._start(processes, blocks, shares, validation)

    def error(self):
        """Returns the error of the first worker that failed, or None."""
        self._look()
        return self._error

    def is_finished(self):
        """Returns whether every task has returned."""
        self._look()
        return not self._left and self._error is None

    def is_queued(self):
        """Returns False: processes begin at once."""
        return False

    def stop(self):
        """Stops what still runs. If all tasks have returned, the processes stay for other work."""
        if not self.is_finished():
            self._stopped = True  # exit codes mean nothing from now on
            self._give_up()
        if self._feeder is not None:
            self._feeder.join(FEEDING)
            if self._feeder.is_alive():  # the next task would receive these records
                log.warning(SENDING, FEEDING)
                self._give_up()  # hangs up, which ends a send
                self._feeder.join(FEEDING)
            if self._feeder.is_alive():
                log.warning(READING, FEEDING)

    def _start(self, processes, blocks, shares, validation):
        arguments = processes, blocks, shares, validation
        self._feeder = Thread(target=self._feed, args=arguments, name="sparkdl-feed", daemon=True)
        self._feeder.start()

    def _feed(self, processes, blocks, shares, validation):
        """Sends the records, in a thread; the processes receive them when they are ready."""
        try:
            for process, share in zip(processes, shares, strict=True):
                for number in share:
                    process.pipe.send((number, blocks.blocks[number]))
                process.pipe.send(END)
            if validation is not None:
                for number, batch in enumerate(validation):
                    processes[number % len(processes)].pipe.send(batch)
                for process in processes:
                    process.pipe.send(END)
        except OSError:
            pass  # a process has ended, which `_look` detects
        except SparkdlError as error:
            self._error = self._error or error
        except Exception as error:
            error = error_from_json(error_to_json(error), "the data to evaluate on")
            self._error = self._error or error

    def _look(self):
        for rank, process in () if self._stopped else list(self._left.items()):
            if failure := task_outcome(process):
                del self._left[rank]
                self._error = root_cause(self._error, failure[0])


def root_cause(known, other):
    """Returns the first of two errors, but prefers the cause of a loss to a lost peer."""
    if known is None or (isinstance(known, PeerError) and not isinstance(other, PeerError | None)):
        return other
    return known


def task_outcome(process):
    """Returns (error or None,) of a process that has ended its task, None of one still working."""
    try:
        if not process.pipe.poll():
            return None
        result = process.pipe.recv()
    except (EOFError, OSError):
        return (process.loss_error("in the middle of a fit"),)
    return (result.error if isinstance(result, Failure) else None,)
