"""Rendezvous of the tasks of a barrier stage."""

from queue import Empty, SimpleQueue
from threading import Thread

from sparkdl.errors import WorkerError


class BarrierRendezvous:
    """A rendezvous of sparkdl.exchange through Spark's driver.

    Parameters
    ----------
    context : BarrierTaskContext
    """

    def __init__(self, context):
        self._context = context
        self.rank, self.size = context.partitionId(), len(context.getTaskInfos())

    def all_gather(self, text, timeout):
        """Returns the texts of all ranks, in their order.

        Raises
        ------
        WorkerError
            Not all have called it within `timeout` seconds, or Spark ends the stage: whose fault
            that is, it does not tell.
        """
        answer = SimpleQueue()
        asking = Thread(target=self._ask, args=(text, answer), daemon=True)
        asking.start()  # Spark's call has no time limit
        try:
            found = answer.get(timeout=timeout)
        except Empty:
            raise WorkerError(
                f"rank {self.rank}: of {self.size} workers not all were there within {timeout:g} s"
            ) from None
        if isinstance(found, Exception):
            raise WorkerError(f"rank {self.rank}: Spark ends the stage, {found!r}") from found
        return found

    def _ask(self, text, answer):
        try:
            answer.put(self._context.allGather(text))
        except Exception as error:  # of any kind: what a broken connection to the JVM gives
            answer.put(error)
