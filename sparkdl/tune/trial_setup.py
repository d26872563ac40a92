"""Data shared by all trials of a search, sent to each executor once."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class TrialSetup:
    """The data of all trials, its processing, and the destination of reports.

    Parameters
    ----------
    transform, validation_transform : callable or None
        Of minibatches of `data`, and of `validation`.
    validation_split, class_weight
        As in `fit`.
    monitor, mode : str
        The figure that a trial is judged by; see Monitor.
    patience : int or None
        Evaluations without improvement that end a trial; None: no limit.
    min_delta : float
        A smaller change is no improvement, for `patience`.
    restore_best_weights : bool
        Whether a trial ends with its best weights, and their figure.
    device : str
        Of a TrainingMaster.
    data : Batch or None
        All training records, or all to divide by `validation_split`; None if trials read them.
    validation : Batch or None
    address, secret, timeout
        Of the driver's Endpoint, and the silence after which a side counts as lost. The secret is
        known only in the trials.
    """

    transform: Any
    validation_transform: Any
    validation_split: float | None
    class_weight: dict[int, float] | None
    monitor: str
    mode: str
    patience: int | None
    min_delta: float
    restore_best_weights: bool
    device: str
    data: Any = field(default=None, repr=False)
    validation: Any = field(default=None, repr=False)
    address: tuple[str, int] = ("", 0)
    secret: bytes = field(default=b"", repr=False)
    timeout: float = 60.0

    @property
    def goes_on(self) -> bool:
        """Whether a trial whose executor was lost resumes from its last epoch.

        With early stopping it starts over: only the listener knows which epoch was best.
        """
        return self.patience is None and not self.restore_best_weights
