"""A listener that ends a fit when its process gets a signal."""

import signal
import threading
from typing import TYPE_CHECKING, Any

from sparkdl.errors import ConfigError, brief
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.reports import FitPlan, RoundReport
from sparkdl.training.reporting.steering import StopTraining

if TYPE_CHECKING:
    from sparkdl.training.reporting.history import History


class TerminateOnSignal(Listener):
    """Ends a fit after the round in which the driver's Python process gets a signal.

    With `checkpoints`, the fit writes its last state, and continues from it when it is resumed.
    Schedulers send a signal some time before they end a job: SLURM with --signal, Kubernetes and
    systemd SIGTERM. A second signal of the same kind does what it did before the fit.

    Parameters
    ----------
    signals : str
        Names, such as "SIGTERM", "SIGHUP" or "SIGUSR1"; without any, SIGTERM. Not SIGINT: Ctrl-C
        interrupts a fit at once.

    Raises
    ------
    ConfigError
        A name is not of a signal that can be handled, or the fit runs in another thread than the
        main one, where Python handles no signals.

    Examples
    --------
    >>> notice = TerminateOnSignal("SIGTERM", "SIGUSR1")
    >>> history = net.fit(data, epochs=9, checkpoints=Checkpoints(path=folder), listeners=[notice])
    """

    def __init__(self, *signals: str) -> None:
        self.signals = tuple(dict.fromkeys(map(check_name, signals or ("SIGTERM",))))
        self._received: str | None = None
        self._handlers: dict[int, Any] = {}

    def on_fit_start(self, plan: FitPlan) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise ConfigError(
                "TerminateOnSignal needs a fit in the main thread, where Python handles signals, "
                f"got thread {threading.current_thread().name!r}; call fit there"
            )
        self._received = None
        for name in self.signals:
            number = getattr(signal, name)
            self._handlers[number] = signal.signal(number, self._receive)

    def on_round(self, report: RoundReport, state: Any) -> None:
        if self._received is not None:
            raise StopTraining(f"the driver got {self._received}")

    def on_fit_end(self, history: "History") -> None:
        for number in tuple(self._handlers):
            self._restore(number)

    def _receive(self, number: int, frame: Any) -> None:
        self._received = signal.Signals(number).name
        self._restore(number)

    def _restore(self, number: int) -> None:
        handler = self._handlers.pop(number)
        signal.signal(number, signal.SIG_DFL if handler is None else handler)


def check_name(name: str) -> str:
    """Returns the name of a signal; ConfigError if a fit cannot wait for it."""
    known = {one.name for one in signal.Signals} - {"SIGINT", "SIGKILL", "SIGSTOP"}
    if not isinstance(name, str) or name not in known:
        raise ConfigError(
            "TerminateOnSignal.signals must be names of signals that a process can handle, except "
            f"SIGINT, got {brief(name)}; give 'SIGTERM'"
        )
    return name
