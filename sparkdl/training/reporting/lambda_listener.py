"""A listener made of functions."""

from collections.abc import Callable
from typing import Any

from sparkdl.config.calls import refuse_unknown_options
from sparkdl.errors import require
from sparkdl.training.reporting.listeners import Listener


class LambdaListener(Listener):
    """Calls functions during the fit; each takes the arguments of the method of its name.

    Parameters
    ----------
    on_fit_start, on_round, on_validation, on_epoch, on_restart, on_fit_end : callable, optional
        See Listener. One that raises StopTraining ends the fit.
    every_updates : tuple of int
        As of Listener.
    steers : bool
        As of Listener.

    Examples
    --------
    >>> def check(report, state):
    ...     if report.loss > 100:
    ...         raise StopTraining("the loss is above 100")
    >>> net.fit(data, listeners=[LambdaListener(on_round=check)])
    """

    @refuse_unknown_options
    def __init__(
        self,
        *,
        on_fit_start: Callable[..., Any] | None = None,
        on_round: Callable[..., Any] | None = None,
        on_validation: Callable[..., Any] | None = None,
        on_epoch: Callable[..., Any] | None = None,
        on_restart: Callable[..., Any] | None = None,
        on_fit_end: Callable[..., Any] | None = None,
        every_updates: tuple[int, ...] = (),
        steers: bool = False,
    ) -> None:
        self.every_updates, self.steers = every_updates, steers
        given = {
            "on_fit_start": on_fit_start,
            "on_round": on_round,
            "on_validation": on_validation,
            "on_epoch": on_epoch,
            "on_restart": on_restart,
            "on_fit_end": on_fit_end,
        }
        for name, function in given.items():
            if function is not None:
                setattr(self, name, function)
                require(self, name, callable(function), "a function")
