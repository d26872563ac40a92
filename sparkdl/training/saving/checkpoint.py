"""Checkpoints, the models that a fit writes on its way, and the search for the newest."""

import re
import time
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from sparkdl.config import Config, Integer, Number, Path, dataclass, option
from sparkdl.config.field_types import PathName
from sparkdl.data import files
from sparkdl.errors import CheckpointError, DivergedError
from sparkdl.training.reporting.counters import COUNTERS
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.reports import (
    EpochReport,
    FitPlan,
    RoundReport,
    ValidationReport,
)
from sparkdl.training.saving.manifest import MANIFEST, as_text
from sparkdl.training.saving.model_directory import load_model, save_model

if TYPE_CHECKING:
    from sparkdl.nn.networks.base import Conf
    from sparkdl.training.saving.state import TrainState

NAME = re.compile(r"round-(\d{8,})")


@dataclass(frozen=True, kw_only=True)
class Checkpoints(Config):
    """The folder and the intervals of the checkpoints that a fit writes. Given neither interval,
    after each epoch.

    A checkpoint has what listeners such as EarlyStopping count, the best weights that they restore
    in the end, and what each worker keeps for itself: with a codec that is a vector as long as the
    weights for each worker, which the driver collects and writes only for checkpoints and
    snapshots.
    """

    path: PathName = option(
        Path(), "Folder, local or a URI; a checkpoint is a model in it, such as round-00000120."
    )
    every_rounds: int | None = option(
        Integer(minimum=1),
        "Write when the number of rounds done is a multiple of this.",
        default=None,
    )
    every_minutes: float | None = option(
        Number(above=0),
        "Write at the end of a round when so much time has passed since the last; where "
        "workers stay for the whole fit, of a round after which they sent the state.",
        default=None,
        unit="minutes",
    )
    keep: int = option(
        Integer(minimum=1), "Number of checkpoints to keep, the last ones.", default=3
    )


class CheckpointWriter(Listener):
    """Writes checkpoints during a fit.

    `last` is the path of the newest one, None before the first.
    """

    def __init__(self, options, clock=time.monotonic):
        self.options = options
        self.clock = clock
        self.last = None

    def on_fit_start(self, plan: FitPlan) -> None:
        """Raises CheckpointError where checkpoints of another run would get mixed with ours."""
        self._conf, self._extra, self._written_at = plan.conf, plan.extra, self.clock()
        self._written: TrainState | None = None
        present = list_checkpoints(self.options.path)
        for rounds in present:
            if rounds > plan.rounds:
                raise CheckpointError(
                    f"{present[rounds]} is ahead of round {plan.rounds}, where this fit starts; "
                    "resume from it, remove it, or choose another path"
                )
        self.last = present[max(present)] if present else None
        remove_unfinished(self.options.path)

    def on_round(self, report: RoundReport, state: "TrainState | None") -> None:
        if state is not None and self._is_due(state):
            self.write(self._conf, state, self._extra)

    def on_epoch(self, report: EpochReport, state: "TrainState") -> None:
        if self.options.every_rounds is None and self.options.every_minutes is None:
            self.write(self._conf, state, self._extra)
        else:
            self._write_counters(state)

    def on_validation(self, report: "ValidationReport", state: "TrainState") -> None:
        self._write_counters(state)

    def _write_counters(self, state):
        """Writes the checkpoint of the last round anew, once listeners have counted its figures."""
        written = self._written
        if written is None or written.counters != state.counters:
            return
        if self._extra.get(COUNTERS):
            self.write(self._conf, written, self._extra)

    def _is_due(self, state):
        rounds, minutes = self.options.every_rounds, self.options.every_minutes
        by_rounds = rounds is not None and state.rounds % rounds == 0
        return by_rounds or (
            minutes is not None and self.clock() - self._written_at >= 60 * minutes
        )

    def write(self, conf: "Conf", state: "TrainState", extra: Mapping[str, Any]) -> None:
        """Saves the state, and deletes all but the last `keep`. Raises DivergedError."""
        self._refuse_diverged(state)
        path = f"{as_text(self.options.path)}/round-{state.rounds:08d}"
        save_model(path, conf, state, extra)
        self.last, self._written_at, self._written = path, self.clock(), state
        self._prune(state.rounds)

    def _refuse_diverged(self, state: "TrainState") -> None:
        if not (np.isfinite(state.params).all() and np.isfinite(state.buffers).all()):
            good = f"the last good checkpoint is {self.last}" if self.last else "no checkpoint yet"
            raise DivergedError(f"weights are not finite after round {state.rounds}; {good}")

    def _prune(self, newest):
        """Deletes all but the last `keep` up to the one just written, which is whole."""
        present = list_checkpoints(self.options.path)
        older = sorted(rounds for rounds in present if rounds <= newest)
        for rounds in older[: -self.options.keep]:
            files.remove(present[rounds])


def latest(path: str | PathLike[str]) -> str:
    """Returns the path of the newest checkpoint under `path` that is whole.

    Raises
    ------
    CheckpointError
        There is none; names those that are damaged.
    """
    return _newest(path)[0]


def load_checkpoint(path: str | PathLike[str]) -> "tuple[Conf, TrainState, dict[str, Any]]":
    """Loads (NetworkConf, TrainState, extra) from a model, or from the newest one in a folder."""
    path = as_text(path)
    return load_model(path) if files.exists(f"{path}/{MANIFEST}") else _newest(path)[1]


def list_checkpoints(path: str | PathLike[str]) -> dict[int, str]:
    """Returns {rounds: path} of all checkpoints in a folder, whole or not.

    Empty if it does not exist.
    """
    matches = map(NAME.fullmatch, _names(path))
    return {int(match[1]): f"{as_text(path)}/{match[0]}" for match in matches if match}


def remove_unfinished(path: str | PathLike[str]) -> None:
    """Deletes what killed fits were writing; one that was replaced stays where no other came."""
    names = _names(path)
    for name in names:
        beside, what = files.parse_hidden(name) or ("", "")
        if NAME.fullmatch(beside) and (what == "new" or beside in names):
            files.remove(f"{as_text(path)}/{name}")


def _names(path):
    """Returns the names in a folder, none where there is no folder."""
    path = as_text(path)
    return files.list(path) if files.exists(path) else []


def _newest(path):
    present, damaged = list_checkpoints(path), []
    for rounds in sorted(present, reverse=True):
        try:
            return present[rounds], load_model(present[rounds])
        except CheckpointError as error:
            damaged.append(str(error))
    if damaged:
        raise CheckpointError(f"{path}: no checkpoint is whole: {'; '.join(damaged)}")
    raise CheckpointError(f"{path}: there are no checkpoints")
