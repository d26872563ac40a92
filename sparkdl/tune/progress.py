"""Reports of the running trials, on the driver."""

import secrets
from threading import Lock

from sparkdl.exchange.connections.endpoint import Endpoint
from sparkdl.exchange.messages.wire import Wire
from sparkdl.tune.reporter import CHANNEL

NOTHING = {"go_on": True, "value": None}, []


class Progress:
    """Receives trials' reports, and keeps each trial's last state for another executor to resume.

    Parameters
    ----------
    judge : function (number of the trial, step, value) -> bool
        Whether the trial continues.
    toward : str
        A host that all executors reach.
    timeout : float
        Seconds of silence after which a trial's process counts as lost.
    """

    def __init__(self, judge, toward, timeout):
        self._judge, self._timeout = judge, timeout
        self._last, self._lock = {}, Lock()
        self.secret = secrets.token_bytes(32)
        self._endpoint = Endpoint(self.secret, toward=toward, timeout=timeout)
        self.address = self._endpoint.address
        self._endpoint.serve(CHANNEL, self._hear)

    def forget(self, number):
        """Drops the state of a finished trial."""
        with self._lock:
            self._last.pop(number, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._endpoint.close()

    def _hear(self, number, sock):
        with Wire(sock, f"the executor of trial {number}", self._timeout) as wire:
            with self._lock:
                meta, arrays = self._last.get(number, NOTHING)
            wire.send(meta, *arrays)
            while True:
                meta, arrays = wire.receive(waiting_for=f"a report of trial {number}")
                if meta["step"] is None:
                    return
                meta["go_on"] = self._judge(number, meta["step"], meta["value"])
                with self._lock:
                    self._last[number] = meta, arrays
                wire.send({"go_on": meta["go_on"]})
