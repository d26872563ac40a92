"""Workers of a fit that is driven from within the barrier stage in which they train.

The first task has the driver's part beside its worker, since executors may not reach the client of
Spark Connect. Tasks find it by what Spark's barrier hands round.
"""

import base64
import logging
from functools import partial
from threading import Thread

from pyspark import cloudpickle

from sparkdl.errors import WorkerError
from sparkdl.spark.gpu_process.dispatch import run_on_device
from sparkdl.spark.jobs.shared_value import LocalValue
from sparkdl.spark.launch.barrier_stage import train
from sparkdl.spark.launch.team import WorkerRank

log = logging.getLogger(__name__)


class StageWorkers:
    """The workers of this stage, as the first of its tasks knows them; see Workers.

    Parameters
    ----------
    context : BarrierTaskContext
    items : iterator
        Of this task's worker, as `split_items` takes them.
    device : str
        Of a TrainingMaster.
    """

    def __init__(self, context, items, device):
        tasks = context.getTaskInfos()
        self.size, self.host = len(tasks), tasks[0].address.rpartition(":")[0]
        self._context, self._items, self._device = context, items, device
        self._is_launched = False

    def load(self, data, schema, size, options):
        """Returns the DealtBlocks that the records were dealt into before the stage began."""
        return data.blocks

    def room(self):
        return self.size

    def obstacle(self):
        return None

    def launch(self, task, blocks, shares, shared, validation=None):
        """Has all tasks of the stage begin to train."""
        if self._is_launched:
            raise WorkerError("workers over Spark Connect are launched once")
        self._is_launched = True
        word = task, shared, validation is not None
        self._context.allGather(to_text(word))
        return OwnWorker(partial(train_in_task, self._device, self._items, 0, self.size, *word))

    def close(self):
        """Lets go of tasks that still wait to train."""
        if not self._is_launched:
            self._context.allGather("")


class OwnWorker:
    """The worker of the first task, in a thread; see LaunchedWorkers.

    Others report to the driver's part themselves.
    """

    def __init__(self, work):
        self._error, self._done = None, False
        self._thread = Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def error(self):
        return self._error

    def is_finished(self):
        return self._done

    def stop(self):
        """Waits some seconds for the worker: its connections are closed by now."""
        self._thread.join(15.0)

    def _run(self, work):
        try:
            work()
            self._done = True
        except Exception as error:
            self._error = error


def follow(context, items, device):
    """Trains in a task that is not the first."""
    [text, *_] = context.allGather("")
    if text:
        rank, size = context.partitionId(), len(context.getTaskInfos())
        try:
            train_in_task(device, items, rank, size, *from_text(text))
        except Exception as error:  # it has been reported, and a stage that failed would be retried
            log.error("%s", error)


def train_in_task(device, items, rank, size, task, shared, evaluates):
    compute = partial(train, task, LocalValue(shared), evaluates)
    list(run_on_device(device, compute, items, WorkerRank(rank, size)))


def to_text(value):
    return base64.b64encode(cloudpickle.dumps(value)).decode()


def from_text(text):
    return cloudpickle.loads(base64.b64decode(text))
