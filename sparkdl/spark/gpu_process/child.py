"""Main loop of a process that computes for a Spark task."""

import signal
import traceback
from contextlib import suppress

from sparkdl.error_messages import error_to_json
from sparkdl.errors import SparkdlError
from sparkdl.nn.execution.device import choose_backend, describe_device, restrict_gpus
from sparkdl.spark.gpu_process.packing import pack, unpack
from sparkdl.training.workers.fork_server.forked_process import end_with, is_forked

NO_GPU = "no GPU"


def serve(pipe, parent, addresses, turn):
    """Runs the jobs sent through the pipe, until the other end hangs up or ends."""
    if not is_forked():
        end_with(parent)
    restrict_gpus(addresses, turn)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for Spark's driver
    task_pipe = TaskPipe(pipe)
    with suppress(EOFError, OSError):  # the other end has hung up
        while True:
            task_pipe.compute(pipe.recv_bytes())


class TaskPipe:
    """The pipe to the parent process: sends results, requests items."""

    def __init__(self, pipe):
        self._pipe, self._results = pipe, []

    def compute(self, job):
        """Runs one job, as sent by `compute_in_process`."""
        self._results = []
        try:
            device, compute, worker = unpack(job)
            self._say("computes", place_of(device))
            results = compute(self._items()) if worker is None else compute(worker, self._items())
            for result in results:
                self._results.append(result)
            self._say("done", self._results)
        except Exception as error:
            if not isinstance(error, SparkdlError):
                traceback.print_exc()
            self._say("failed", error_to_json(error))

    def _ask(self, *message):
        """Sends a message and returns the parent's answer."""
        self._say(*message)
        return unpack(self._pipe.recv_bytes())

    def _items(self):
        """Yields the items of the task one by one, sending back the results so far."""
        while True:
            results, self._results = self._results, []
            answer = self._ask("next", results)
            if not answer:
                return
            yield answer[0]

    def _say(self, *message):
        self._pipe.send_bytes(pack(message))


def place_of(device):
    """Returns a description of the device that computes here, or NO_GPU.

    In that case the computation itself will raise the error.
    """
    try:
        return describe_device(choose_backend(device))
    except SparkdlError:
        return NO_GPU
