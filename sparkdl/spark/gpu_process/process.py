"""A spawned process, as its parent uses it."""

import logging
import multiprocessing
import os
import platform

from sparkdl.errors import WorkerError
from sparkdl.spark.gpu_process.child import serve
from sparkdl.spark.gpu_process.packing import pack, unpack

log = logging.getLogger(__name__)
ENDING = 30.0  # seconds for one that is killed to end
GRACE = 5.0  # seconds for a process whose pipe is closed to end


class GpuProcess:
    """A process that runs one computation after the other, most often on one GPU.

    Parameters
    ----------
    addresses : tuple of str
        Of the GPUs that it may take, none: those that it sees.
    turn : int
        See nn.execution.device.restrict_gpus.
    """

    def __init__(self, addresses, turn):
        self.addresses = addresses
        self.device = f"GPU {', '.join(addresses)}" if addresses else "device not known yet"
        context = multiprocessing.get_context("spawn")
        self._pipe, far = context.Pipe()
        arguments = far, os.getpid(), addresses, turn
        self._process = context.Process(target=serve, args=arguments, daemon=True)
        self._process.start()
        far.close()

    def __str__(self):
        return f"process {self._process.pid} on {platform.node()}, {self.device}"

    def is_alive(self):
        return self._process.is_alive()

    def send(self, *message):
        """Sends it; WorkerError if the process has ended."""
        data = pack(message)
        try:
            self._pipe.send_bytes(data)
        except OSError:
            raise self._loss_error() from None

    def receive(self, timeout, waiting_for):
        """Returns the next message of the process.

        Parameters
        ----------
        timeout : seconds, or None for as long as it lives
        waiting_for : str

        Raises
        ------
        WorkerError
            It has ended, or said nothing for so long.
        """
        try:
            if not self._pipe.poll(timeout):
                raise WorkerError(f"{self}: waited {timeout:g} s for {waiting_for}")
            data = self._pipe.recv_bytes()
        except (EOFError, OSError):
            raise self._loss_error() from None
        return unpack(data)

    def kill(self):
        """Ends it, whatever it does, and waits until it is gone: its memory on the GPU is free.

        One that hangs in the driver of a broken GPU may never end; the log says so.
        """
        self._pipe.close()
        self._process.kill()
        self._process.join(ENDING)
        if self._process.is_alive():
            log.warning("%s: has not ended %g s after it was killed; see its GPU", self, ENDING)

    def _loss_error(self):
        self._process.join(GRACE)
        return WorkerError(f"{self}: ended with exit code {self._process.exitcode}")
