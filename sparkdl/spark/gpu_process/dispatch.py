"""Runs tasks that take a GPU in processes of their own, which know nothing of Spark.

Spark forks the processes of its tasks and uses them again, so none of them may meet CUDA: their
memory on the GPU would stay taken, and a call that hangs could not be ended. A spawned one ends
with the task where workers train together, and in any case with the process that it computes for.
"""

import logging
from contextlib import contextmanager
from functools import partial
from itertools import islice

from pyspark import TaskContext

from sparkdl.error_messages import error_from_json
from sparkdl.nn.execution.device import PROCESSOR, can_reach_gpu, may_be_gpu, why_no_gpu
from sparkdl.spark.gpu_process.child import NO_GPU
from sparkdl.spark.gpu_process.process import GpuProcess
from sparkdl.spark.jobs.error_notes import note_errors
from sparkdl.training.workers.frozen_modules import freeze_modules

log = logging.getLogger(__name__)
STARTING = 300.0  # seconds for a process to start, and to find its GPU
TIMEOUT = 600.0  # seconds that it computes between two words
IDLE = []  # Processes of this one: what they have compiled is there for the next task


def run_on_device(device, compute, items, worker=None, tally=None):
    """Runs compute(items) in a Spark task: here, or in another process where it takes a GPU.

    It is here where CuPy is not installed, as no CUDA is met: "cuda" is then refused at once, by
    what makes a replica. Where only no driver is seen a GPU may show no files, and be found.

    Parameters
    ----------
    device : str
        The task_device of a TrainingMaster.
    compute : function of an iterator that gives an iterator
        With `worker`, of that and the iterator.
    items : iterator
    worker : WorkerRank, optional
        Of a worker among those that train together.
    tally : DeviceTally, optional
        Is told where this task computes.

    Raises
    ------
    WorkerError
        The other process has ended, or says nothing for too long; or `compute` raises in it what
        is no SparkdlError.
    """
    freeze_modules()
    addresses = gpus()
    if may_be_gpu(device) and can_reach_gpu():
        return run_in_process(device, compute, items, addresses, worker, tally)
    if addresses and device == "auto":
        log.warning("the task owns the GPUs %s and takes none: %s", addresses, why_no_gpu())
    if tally is not None and not may_be_gpu(device):
        tally.add(PROCESSOR)
    return compute(items) if worker is None else compute(worker, items)


def run_partition_on_device(device, compute, partition, items, tally=None):
    """Runs a function of the partition's number and the items likewise; notes its errors."""
    with note_errors():
        yield from run_on_device(device, partial(compute, partition), items, tally=tally)


def gpus():
    """Returns the addresses of the GPUs that Spark has dealt to this task."""
    resource = TaskContext.get().resources().get("gpu")
    return tuple(resource.addresses) if resource else ()


def turn():
    """Returns the index of this task on its host, for use where Spark deals out no GPUs."""
    context = TaskContext.get()
    rank = context.partitionId()
    if not hasattr(context, "getTaskInfos"):
        return rank
    hosts = [info.address.rpartition(":")[0] for info in context.getTaskInfos()]
    return hosts[:rank].count(hosts[rank])


def run_in_process(device, compute, items, addresses, worker, tally):
    """Yields the results of compute(items), run in another process, as they come."""
    with open_process(addresses, worker is None, turn()) as process:
        yield from compute_in_process(process, device, compute, iter(items), worker, tally)


def compute_in_process(process, device, compute, items, worker, tally=None):
    """Yields the results of compute(items) from a process."""
    process.send(device, compute, worker)
    kind, reply = process.receive(STARTING, "its device")
    if kind == "failed":
        raise error_from_json(reply, str(process))
    process.device = reply
    if tally is not None and reply != NO_GPU:
        tally.add(reply)
    yield from answering(process, items, TIMEOUT if worker is None else None)


def answering(process, items, silence):
    """Yields the results of a process, and sends it the items that it asks for.

    `silence` limits how long it may compute between two words, None where the driver watches.
    """
    while True:
        kind, *arguments = process.receive(silence, "a result")
        if kind == "failed":
            raise error_from_json(arguments[0], str(process))
        yield from arguments[0]
        if kind == "done":
            return
        process.send(*islice(items, 1))


@contextmanager
def open_process(addresses, keep, turn):
    """Opens a GpuProcess for these GPUs; a failure or a dropped task leaves none behind."""
    process = idle(addresses) if keep else None
    if not keep:
        end_idle()  # they hold memory of the GPU
    process = process or GpuProcess(addresses, turn)
    try:
        yield process
    except BaseException:
        process.kill()
        raise
    if keep:
        IDLE.append(process)
    else:
        process.kill()


def idle(addresses):
    """Returns an idle process for these GPUs, or None.

    Others are of no use to this process any more.
    """
    for process in IDLE:
        if process.addresses == addresses and process.is_alive():
            IDLE.remove(process)
            return process
    end_idle()
    return None


def end_idle():
    while IDLE:
        IDLE.pop().kill()
