"""Steering of a running fit by its listeners: its end, its rates, the weights that it ends with."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sparkdl.errors import ConfigError, brief

if TYPE_CHECKING:
    from sparkdl.training.saving.state import TrainState

VECTORS = ("params", "buffers", "slots", "tables", "master_state", "worker_states", "owner")


class StopTraining(Exception):
    """Raised by a listener to end the fit cleanly, after the running round and what is due after
    it.

    Its text, if there is one, becomes the History's `end_reason`. All other listeners still hear
    of the event.
    """


class Steering:
    """Requests of listeners, which a fit follows.

    Parameters
    ----------
    waits : bool
        Whether the fit waits for listeners after each epoch and evaluation, on any workers.
    rate_factor : float
        Factor of the learning rates with which the fit starts.
    earlier_ending : TrainState, optional
        State with which the resumed fit would have ended, if a listener had chosen one.

    Attributes
    ----------
    end_reason : str or None
        Why the fit was stopped, if a reason was given.
    stopped : bool
    error : BaseException or None
        The error that has interrupted the fit, if any.
    refused : bool
        Whether that error is a listener's refusal of the fit, before it began.
    restoring : Listener or None
        The one that chooses the weights that the fit ends with, if any.
    unheard : list of events
        Rounds that ended after the fit was interrupted, which no listener has heard of.
    """

    def __init__(
        self,
        waits: bool = True,
        rate_factor: float = 1.0,
        earlier_ending: "TrainState | None" = None,
    ) -> None:
        self.stopped, self.end_reason = False, None
        self.waits, self._rate_factor = waits, rate_factor
        self.error: BaseException | None = None
        self.refused = False
        self.restoring: Any = None
        self.unheard: list[Any] = []
        self.earlier_ending = earlier_ending
        self.state_to_end_with: TrainState | None = None

    def stop(self, reason: str | None = None) -> None:
        """Ends the fit after the running round; the first reason counts."""
        self.end_reason = self.end_reason or reason or "a listener has stopped the fit"
        self.stopped = True

    @property
    def rate_factor(self) -> float:
        """The factor of all learning rates, from the next epoch, or from after the evaluation, on.

        It stays with the network's state, for later fits as well.
        """
        return self._rate_factor

    @rate_factor.setter
    def rate_factor(self, factor: float) -> None:
        if not self.waits:
            raise ConfigError(
                "rate_factor can be changed only where the fit waits for a listener, got none "
                "with steers = True"
            )
        if not 0 < factor < float("inf"):
            raise ConfigError(f"rate_factor must be a number > 0, got {brief(factor)}")
        self._rate_factor = float(factor)

    def end_with(self, state: "TrainState | None") -> None:
        """Makes the fit end with the vectors of an earlier state; None: with its last."""
        self.state_to_end_with = state

    def steer(self, state: "TrainState") -> "TrainState":
        """Returns the state with the rates that are wished for."""
        same = state.rate_factor == self._rate_factor
        return state if same else replace(state, rate_factor=self._rate_factor)

    def ending(self, state: "TrainState") -> "TrainState":
        """Returns the state to end with: the counters are the last ones in any case."""
        chosen = self.state_to_end_with
        if chosen is not None:
            state = replace(state, **{name: getattr(chosen, name) for name in VECTORS})
        return self.steer(state)
