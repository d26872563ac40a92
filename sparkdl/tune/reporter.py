"""A trial's connection to the driver: sends figures, and receives whether to continue."""

import numpy as np

from sparkdl.exchange.connections.dialer import dial
from sparkdl.exchange.messages.wire import Wire
from sparkdl.training.saving.state import TrainState

CHANNEL = "trial"
VECTORS = ("params", "buffers", "slots")


class Reporter:
    """Reports of one trial.

    Parameters
    ----------
    setup : TrialSetup
    number : int
        Of the trial.

    Attributes
    ----------
    state : TrainState or None
        The state to resume from, if an executor that had begun the trial was lost.
    value : float or None
        The figure of that state.
    pruned : bool
        Whether the driver has pruned the trial.

    Raises
    ------
    PeerError
        From any call, if the driver is gone or silent; Spark then ends the task.
    """

    def __init__(self, setup, number):
        sock = dial(setup.address, setup.secret, CHANNEL, number, timeout=setup.timeout)
        self._wire, self._keep = Wire(sock, f"{setup.address[0]} (the driver)", setup.timeout), None
        self._sends_state = setup.goes_on
        meta, arrays = self._wire.receive(waiting_for="where to begin")
        self.pruned, self.value = not meta["go_on"], meta["value"]
        self.state = state_of(meta, arrays) if arrays else None

    def report(self, step, value, state):
        """Reports the figure after this many epochs; returns whether to continue."""
        meta = {"step": step, "value": value, "counters": state.counters}
        arrays = [getattr(state, name) for name in VECTORS] if self._sends_state else []
        self._wire.send(meta, *map(np.ascontiguousarray, arrays))
        self.pruned = not self._wire.receive(waiting_for="whether to go on")[0]["go_on"]
        return not self.pruned

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            self._wire.send({"step": None})
            self._wire.finish()
        self._wire.close()


def state_of(meta, arrays):
    """Returns the TrainState of a report."""
    return TrainState(**dict(zip(VECTORS, arrays, strict=True)), **meta["counters"])
