"""A task that owns several GPUs, with a worker process on each of them."""

import json
from contextlib import ExitStack
from queue import SimpleQueue
from threading import Barrier, BrokenBarrierError, Thread

from sparkdl.errors import WorkerError
from sparkdl.spark.gpu_process.dispatch import compute_in_process, gpus, open_process, turn

END = object()


def run_on_gpus(device, compute, items, meeting, team):
    """Runs the workers of one task; they give nothing.

    Parameters
    ----------
    device : str
        Of a TrainingMaster.
    compute : function of a rendezvous and an iterator of items
    items : iterator of (key, value)
    meeting : Rendezvous
        Of the tasks.
    team : Team

    Raises
    ------
    WorkerError
        A process has ended. What `compute` raises in the first that fails, as `apart` does.
    """
    together, ends = TaskWorkers(meeting, team), SimpleQueue()
    queues = {rank: SimpleQueue() for rank in together.ranks}
    with ExitStack() as stack:
        stack.callback(end, queues)  # threads that wait for items when one fails
        for place, (rank, queue) in enumerate(queues.items()):
            own = gpus()[place : place + 1]  # none where Spark deals out none
            process = stack.enter_context(open_process(own, False, turn() * team.each + place))
            mine = iter(queue.get, END), DeviceRendezvous(together, place, rank)
            work = compute_in_process(process, device, compute, *mine)
            Thread(target=run, args=(work, ends), daemon=True).start()
        for key, value in items:
            queues[team.rank(key)].put((key, value))
        end(queues)
        for _ in queues:
            error = ends.get()  # the driver watches workers that train together
            if error is not None:
                raise error


def end(queues):
    for queue in queues.values():
        queue.put(END)


def run(work, ends):
    """Runs a worker; reports how it has ended: None, or its error."""
    try:
        for _ in work:
            pass
        ends.put(None)
    except Exception as error:
        ends.put(error)


class TaskWorkers:
    """The workers of one task, which meet others through the rendezvous of the tasks.

    Parameters
    ----------
    meeting : Rendezvous
    team : Team
    """

    def __init__(self, meeting, team):
        self._meeting, self.size, self.ranks = meeting, team.size, team.ranks(meeting.rank)
        self._texts, self._found = [None] * len(self.ranks), None
        self._barrier = Barrier(len(self.ranks), self._ask)

    def all_gather(self, place, text, timeout):
        self._texts[place] = text, timeout
        try:
            self._barrier.wait(timeout)
        except BrokenBarrierError:
            raise WorkerError(
                f"task {self._meeting.rank}: of its {len(self._texts)} workers not all were there "
                f"within {timeout:g} s"
            ) from None
        if isinstance(self._found, WorkerError):
            raise self._found
        return self._found

    def _ask(self):
        """Gathers the texts of all tasks; the last who comes does it, while the others wait."""
        texts, limits = zip(*self._texts, strict=True)
        try:
            found = self._meeting.all_gather(json.dumps(texts), max(limits))
            self._found = [text for task in found for text in json.loads(task)]
        except WorkerError as error:
            self._found = error


class DeviceRendezvous:
    """The rendezvous of one worker; see exchange.rendezvous.Rendezvous."""

    def __init__(self, together, place, rank):
        self._together, self._place = together, place
        self.rank, self.size = rank, together.size

    def all_gather(self, text, timeout):
        return self._together.all_gather(self._place, text, timeout)
