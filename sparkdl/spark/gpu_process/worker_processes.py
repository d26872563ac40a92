"""Tasks with several workers, each in a separate process with its own or a shared GPU."""

from contextlib import ExitStack, suppress
from queue import Empty, Full, Queue, SimpleQueue
from threading import Event, Thread

from sparkdl.spark.gpu_process.dispatch import compute_in_process, gpus, open_process, turn
from sparkdl.thread_start import start_thread

AHEAD = 2  # items in memory for a worker that is still busy with earlier ones
POLL = 0.1  # seconds
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
    ends, has_failed = SimpleQueue(), Event()
    queues = {worker.rank: Queue(AHEAD) for worker in workers}
    with ExitStack() as stack:
        stack.callback(has_failed.set)  # releases threads that wait for items
        for number, worker in enumerate(workers):
            addresses = gpu_of(number, gpus())
            index = turn() * team.workers_per_task + number
            process = stack.enter_context(open_process(addresses, False, index))
            own_items = take_items(queues[worker.rank], has_failed)
            work = compute_in_process(process, device, compute, own_items, worker)
            start_thread(Thread(target=run, args=(work, ends, has_failed), daemon=True))
        deal_items(items, queues, team, has_failed)
        for _ in queues:
            error = ends.get()  # the driver watches workers that train together
            if error is not None:
                raise error


def gpu_of(number, addresses):
    """Returns the address of a worker's GPU as a tuple, () if Spark assigns none."""
    return (addresses[number % len(addresses)],) if addresses else ()


def deal_items(items, queues, team, has_failed):
    """Hands each worker its items; stops as soon as a worker has failed."""
    for key, value in items:
        put_item(queues[team.rank(key)], (key, value), has_failed)
        if has_failed.is_set():
            return
    for queue in queues.values():
        put_item(queue, END, has_failed)


def put_item(queue, item, has_failed):
    """Puts an item once there is room, unless a worker has failed."""
    while not has_failed.is_set():
        with suppress(Full):
            queue.put(item, timeout=POLL)
            return


def take_items(queue, has_failed):
    """Yields the items of a worker, up to the last or until a worker has failed."""
    while (item := take_item(queue, has_failed)) is not END:
        yield item


def take_item(queue, has_failed):
    while not has_failed.is_set():
        with suppress(Empty):
            return queue.get(timeout=POLL)
    return END


def run(work, ends, has_failed):
    """Runs a worker; reports None at its end, or its error."""
    try:
        for _ in work:
            pass
        ends.put(None)
    except Exception as error:
        ends.put(error)
        has_failed.set()
