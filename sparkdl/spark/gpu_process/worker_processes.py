"""Tasks with several workers, each in a separate process with its own or a shared GPU."""

from contextlib import ExitStack
from queue import SimpleQueue
from threading import Thread

from sparkdl.spark.gpu_process.dispatch import compute_in_process, gpus, open_process, turn
from sparkdl.thread_start import start_thread

END = object()


def run_workers(device, compute, items, workers, team):
    """Runs the workers of one task concurrently; they yield nothing.

    Each worker gets one of the task's GPUs; if there are more workers, they share them. On CPUs
    they share the cores of the task, each with as many threads as if it were alone, so that a
    worker computes the same wherever it runs.

    Parameters
    ----------
    device : str
        Of a TrainingMaster.
    compute : function of a WorkerRank and an iterator of items
    items : iterator of (key, value)
    workers : list of WorkerRank
        Of the task's workers.
    team : Team

    Raises
    ------
    WorkerError
        If a process has ended. Errors of `compute` in the first worker that fails are raised as by
        `run_on_device`.
    """
    ends, queues = SimpleQueue(), {worker.rank: SimpleQueue() for worker in workers}
    with ExitStack() as stack:
        stack.callback(end, queues)  # releases threads that wait for items when one fails
        for number, worker in enumerate(workers):
            addresses = gpu_of(number, gpus())
            index = turn() * team.workers_per_task + number
            process = stack.enter_context(open_process(addresses, False, index))
            own_items = iter(queues[worker.rank].get, END)
            work = compute_in_process(process, device, compute, own_items, worker)
            start_thread(Thread(target=run, args=(work, ends), daemon=True))
        for key, value in items:
            queues[team.rank(key)].put((key, value))
        end(queues)
        for _ in queues:
            error = ends.get()  # the driver watches workers that train together
            if error is not None:
                raise error


def gpu_of(number, addresses):
    """Returns the address of a worker's GPU as a tuple, () if Spark assigns none."""
    return (addresses[number % len(addresses)],) if addresses else ()


def end(queues):
    for queue in queues.values():
        queue.put(END)


def run(work, ends):
    """Runs a worker; reports None at its end, or its error."""
    try:
        for _ in work:
            pass
        ends.put(None)
    except Exception as error:
        ends.put(error)
