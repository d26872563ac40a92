"""A process for GPU computations, as seen by its parent."""

import os
import platform

from sparkdl.errors import WorkerError
from sparkdl.spark.gpu_process.child import serve
from sparkdl.spark.gpu_process.packing import pack, unpack
from sparkdl.training.workers.fork_server.contexts import OF_A_FIT, process_context
from sparkdl.training.workers.fork_server.process_end import describe_end, kill_process

GRACE = 5.0  # seconds for a process to end once its pipe is closed
MODULES = [
    "sparkdl.spark.gpu_process.child",
    "sparkdl.spark.launch.worker_training",
    *OF_A_FIT,
]
PROCESSES = process_context(MODULES)


class GpuProcess:
    """A process that runs computations one after the other, usually on one GPU.

    Parameters
    ----------
    addresses : tuple of str
        Of the GPUs that it may use; if empty, those that it sees.
    turn : int
        See nn.execution.device.restrict_gpus.
    """

    def __init__(self, addresses, turn):
        self.addresses = addresses
        self.device = f"GPU {', '.join(addresses)}" if addresses else "device not known yet"
        self._pipe, far = PROCESSES.Pipe()
        arguments = far, os.getpid(), addresses, turn
        self._process = PROCESSES.Process(target=serve, args=arguments, daemon=True)
        self._process.start()
        far.close()

    def __str__(self):
        return f"process {self._process.pid} on {platform.node()}, {self.device}"

    def is_alive(self):
        return self._process.is_alive()

    def send(self, *message):
        """Sends a message; raises WorkerError if the process has ended."""
        data = pack(message)
        try:
            self._pipe.send_bytes(data)
        except OSError:
            raise self._loss_error() from None

    def receive(self, timeout, waiting_for):
        """Returns the next message of the process.

        Parameters
        ----------
        timeout : seconds, or None to wait for as long as it lives
        waiting_for : str

        Raises
        ------
        WorkerError
            If it has ended, or was silent for that long.
        """
        try:
            if not self._pipe.poll(timeout):
                raise WorkerError(f"{self}: waited {timeout:g} s for {waiting_for}")
            data = self._pipe.recv_bytes()
        except (EOFError, OSError):
            raise self._loss_error() from None
        return unpack(data)

    def kill(self):
        """Kills the process and waits until it is gone, which frees its GPU memory."""
        self._pipe.close()
        kill_process(self._process, self, "; check its GPU")

    def _loss_error(self):
        self._process.join(GRACE)
        return WorkerError(f"{self}: ended with {describe_end(self._process)}")
