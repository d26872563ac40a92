"""A listener that ends a fit when its process gets a signal."""

import signal
import threading
from typing import TYPE_CHECKING, Any

from sparkdl.errors import ConfigError, brief
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.reports import EpochReport, FitPlan, RoundReport, ValidationReport
from sparkdl.training.reporting.steering import StopTraining

if TYPE_CHECKING:
    from sparkdl.training.reporting.history import History

NAMES = "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGXCPU", "SIGBREAK"  # by which a job is told


class TerminateOnSignal(Listener):
    """Ends a fit after the round in which the driver's Python process gets a signal.

    With `checkpoints`, the fit writes its last state, and continues from it when it is resumed. A
    second signal of the same kind does what it did before the fit. If a signal comes after the last
    round, only `history.end_reason` says so.

    The signal must reach this process alone: Spark's JVM, a process beside it, ends with a SIGTERM
    of its own, and the fit fails. That is `kill PID`, systemd's KillMode=mixed, or SLURM's
    `--signal=B:TERM@60` with a trap that passes it on. In the cluster mode of spark-submit the JVM
    gets the signal, so use Checkpoints(every_minutes=...) there.

    Parameters
    ----------
    signals : str
        Names, among SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGXCPU; without any, SIGTERM. SIGINT, by
        Ctrl-C, interrupts a fit at once.

    Raises
    ------
    ConfigError
        A name is not one of these; another such listener has the signal; or the fit runs in another
        thread than the main one, where Python handles signals: as CrossValidator's fits do.

    Examples
    --------
    >>> notice = TerminateOnSignal("SIGTERM", "SIGUSR1")
    >>> history = net.fit(data, epochs=9, checkpoints=Checkpoints(path=folder), listeners=[notice])
    """

    def __init__(self, *signals: str) -> None:
        self.signals = tuple(dict.fromkeys(map(check_name, signals or ("SIGTERM",))))
        self._received: str | None = None
        self._handlers: dict[int, Any] = {}  # those from before the fit

    def on_fit_start(self, plan: FitPlan) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise ConfigError(
                "TerminateOnSignal needs a fit in the main thread, where Python handles signals, "
                f"got thread {threading.current_thread().name!r}; leave it out, or call fit there"
            )
        numbers = [getattr(signal, name) for name in self.signals]
        handlers = {number: signal.getsignal(number) for number in numbers}
        for number, handler in handlers.items():
            if isinstance(getattr(handler, "__self__", None), TerminateOnSignal):
                name = signal.Signals(number).name
                raise ConfigError(f"{name} must have one TerminateOnSignal, got two; leave one out")
        self._received, self._handlers = None, handlers
        for number in numbers:
            signal.signal(number, self._receive)

    def on_round(self, report: RoundReport, state: Any) -> None:
        self._stop_if_received()

    def on_validation(self, report: ValidationReport, state: Any) -> None:
        self._stop_if_received()

    def on_epoch(self, report: EpochReport, state: Any) -> None:
        self._stop_if_received()

    def on_fit_end(self, history: "History") -> None:
        for number in self._handlers:
            self._restore(number)
        if self._received is not None:
            history.end_reason = history.end_reason or self._reason()

    def _stop_if_received(self) -> None:
        if self._received is not None:
            raise StopTraining(self._reason())

    def _reason(self) -> str:
        return f"the driver got {self._received}"

    def _receive(self, number: int, frame: Any) -> None:
        self._received = signal.Signals(number).name
        self._restore(number)

    def _restore(self, number: int) -> None:
        """Restores a handler, unless it is restored, or somebody else has set another."""
        if signal.getsignal(number) == self._receive:
            handler = self._handlers[number]
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def check_name(name: str) -> str:
    """Returns the name of a signal; ConfigError if it is of none that this system may send."""
    known = [one for one in NAMES if hasattr(signal, one)]
    if name not in known:
        raise ConfigError(f"TerminateOnSignal.signals must be of {known}, got {brief(name)}")
    return name
