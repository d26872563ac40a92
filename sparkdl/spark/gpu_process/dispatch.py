"""Execution of tasks that use a GPU in separate processes, independent of Spark.

Spark forks the processes of its tasks and reuses them, so none of them may use CUDA: their GPU
memory would stay allocated, and a hanging call could not be ended. The other process ends with the
task if workers train together, and otherwise with the process that it computes for.
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
TIMEOUT = 600.0  # most seconds that it computes between two messages
IDLE = []  # processes kept for the next task, with their compiled kernels


def run_on_device(device, compute, items, worker=None, tally=None):
    """Runs compute(items) in a Spark task: here, or in another process if it uses a GPU.

    It runs here if CuPy is not installed, as CUDA is then not used: "cuda" is refused when the
    replica is made. If merely no driver is visible, a GPU may still be found.

    Parameters
    ----------
    device : str
        The task_device of a TrainingMaster.
    compute : function of an iterator that gives an iterator
        With `worker`, of the worker and the iterator.
    items : iterator
    worker : WorkerRank, optional
        If workers train together.
    tally : DeviceTally, optional
        Counts the device that this task computes on.

    Raises
    ------
    WorkerError
        If the other process has ended or is silent for too long, or `compute` raises anything but a
        SparkdlError in it.
    """
    freeze_modules()
    addresses = gpus()
    if may_be_gpu(device) and can_reach_gpu():
        return run_in_process(device, compute, items, addresses, worker, tally)
    if addresses and device == "auto":
        log.warning("the task owns the GPUs %s but uses none: %s", addresses, why_no_gpu())
    if tally is not None and not may_be_gpu(device):
        tally.add(PROCESSOR)
    return compute(items) if worker is None else compute(worker, items)


def run_partition_on_device(device, compute, partition, items, tally=None):
    """Runs a function of the partition's number and the items likewise; notes its errors."""
    with note_errors():
        yield from run_on_device(device, partial(compute, partition), items, tally=tally)


def gpus():
    """Returns the addresses of the GPUs that Spark has assigned to this task."""
    resource = TaskContext.get().resources().get("gpu")
    return tuple(resource.addresses) if resource else ()


def turn():
    """Returns the index of this task on its host, for use if Spark assigns no GPUs."""
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
    """Yields the results of a process, and sends it the items that it requests.

    `silence` limits the seconds between two messages; None if the driver watches the process.
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
    """Opens a GpuProcess for these GPUs; a failed or dropped task leaves none behind."""
    process = idle(addresses) if keep else None
    if not keep:
        end_idle()  # idle processes hold GPU memory
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

    Otherwise all idle processes are ended, as this process no longer needs them.
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
