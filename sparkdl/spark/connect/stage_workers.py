"""Workers of a fit that is driven from within the barrier stage in which they train.

The first task runs the driver's part besides its worker, since executors may be unable to reach
the Spark Connect client. Tasks find it through the messages of Spark's barrier.
"""

import base64
import logging
from functools import partial
from threading import Thread

from pyspark import cloudpickle

from sparkdl.errors import WorkerError
from sparkdl.spark.gpu_process.dispatch import run_on_device
from sparkdl.spark.jobs.shared_value import LocalValue
from sparkdl.spark.launch.team import WorkerRank
from sparkdl.spark.launch.worker_training import train
from sparkdl.thread_start import start_thread

log = logging.getLogger(__name__)
MEETING = 60.0  # seconds for all tasks of a stage, which begin together, to exchange messages


class LaunchedOnce(Exception):
    """Workers cannot be relaunched within a stage: the stage must start over."""


class StageWorkers:
    """The workers of this stage, as seen by its first task; see Workers.

    Parameters
    ----------
    context : BarrierTaskContext
    items : iterator
        Of this task's worker, as `split_items` takes them.
    device : str
        Of a TrainingMaster.

    Attributes
    ----------
    incomplete : WorkerError or None
        Why the stage is incomplete; the task must then fail, as this is not the fit's error.
    """

    def __init__(self, context, items, device):
        tasks = context.getTaskInfos()
        self.size, self.host = len(tasks), tasks[0].address.rpartition(":")[0]
        self._context, self._items, self._device = context, items, device
        self._is_launched, self._own, self.incomplete = False, None, None

    def load(self, data, schema, size, options):
        """Returns the DealtBlocks that the records were dealt into before the stage began."""
        return data.blocks

    def keep_size(self, size):
        """Does nothing: the stage has as many tasks as it has workers."""

    def room(self):
        return self.size

    def reason_to_move(self):
        return None

    def move(self, reason):
        raise WorkerError("workers over Spark Connect are launched once")

    def other_memory(self):
        return {}  # the server's JVMs are not accessible

    def obstacle(self):
        return None

    def launch(self, task, blocks, shares, shared, validation=None):
        """Makes all tasks of the stage begin to train."""
        if self._is_launched:
            raise LaunchedOnce
        self._is_launched = True
        word = task, shared, validation is not None
        self._tell_all(to_text(word))
        work = partial(train_in_task, self._device, self._items, 0, self.size, *word)
        self._own = OwnWorker(work)
        return self._own

    def close(self):
        """Releases tasks that still wait to train; waits for this task's own worker."""
        if not self._is_launched:
            self._tell_all("")
        if self._own is not None:
            self._own.join()

    def _tell_all(self, text):
        try:
            tell_all(self._context, text)
        except WorkerError as error:
            self.incomplete = error
            raise


class OwnWorker:
    """The worker of the first task, in a thread; see LaunchedWorkers.

    The other workers report to the driver's part by themselves.
    """

    def __init__(self, work):
        self._error, self._done = None, False
        self._thread = Thread(target=self._run, args=(work,), daemon=True)
        start_thread(self._thread)

    def error(self):
        return self._error

    def is_finished(self):
        return self._done

    def is_queued(self):
        """Returns False: all tasks of the stage have begun."""
        return False

    def stop(self):
        """Does nothing: the worker may wait for the driver's part until that hangs up."""

    def join(self):
        """Waits some seconds for the worker, whose connections are closed by now."""
        self._thread.join(15.0)

    def _run(self, work):
        try:
            work()
            self._done = True
        except Exception as error:
            self._error = error


def tell_all(context, text, limit=MEETING):
    """Sends a text to all tasks of the stage; returns the texts of all.

    Spark itself would wait for a year: if a task cannot fetch its records, it gives up the stage
    but lets the other tasks wait, in slots that the next attempt needs.

    Raises
    ------
    WorkerError
        If not all tasks have arrived within the limit.
    """
    told = []

    def meet():
        try:
            told.extend(context.allGather(text))
        except Exception as error:  # Spark ends this attempt
            log.error("%s", error)

    thread = Thread(target=meet, daemon=True)
    start_thread(thread)
    thread.join(limit)
    if not told:
        raise WorkerError(
            f"not all {len(context.getTaskInfos())} tasks of the stage have started within "
            f"{limit:g} s; Spark runs it again"
        )
    return told


def follow(context, items, device):
    """Trains in a task other than the first."""
    [text, *_] = tell_all(context, "")
    if text:
        rank, size = context.partitionId(), len(context.getTaskInfos())
        try:
            train_in_task(device, items, rank, size, *from_text(text))
        except Exception as error:  # already reported; a failed stage would be retried
            log.error("%s", error)


def train_in_task(device, items, rank, size, task, shared, evaluates):
    compute = partial(train, task, LocalValue(shared), evaluates)
    list(run_on_device(device, compute, items, WorkerRank(rank, size)))


def to_text(value):
    return base64.b64encode(cloudpickle.dumps(value)).decode()


def from_text(text):
    return cloudpickle.loads(base64.b64decode(text))
