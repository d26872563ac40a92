"""Checkpoints: models that a fit writes on its way, and the search for the newest."""

import logging
import re
import time
import uuid
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from sparkdl.config import Config, Integer, Number, Path, dataclass, option
from sparkdl.config.field_types import PathName
from sparkdl.data import files
from sparkdl.errors import CheckpointError, DataError, DivergedError
from sparkdl.training.reporting.counters import ENDING
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.reports import (
    EpochReport,
    FitPlan,
    RoundReport,
    ValidationReport,
)
from sparkdl.training.saving.manifest import MANIFEST, as_text, check_place, shared_digests
from sparkdl.training.saving.model_directory import load_model, save_model
from sparkdl.training.saving.stored_tables import verify_tables
from sparkdl.training.saving.table_pool import TablePool

if TYPE_CHECKING:
    from sparkdl.nn.networks.base import Conf
    from sparkdl.training.saving.state import TrainState

log = logging.getLogger(__name__)
NAME = re.compile(r"round-(\d{8,})")


@dataclass(frozen=True, kw_only=True)
class Checkpoints(Config):
    """Where and how often a fit writes checkpoints; without an interval, after each epoch.

    A fit that a listener stops (StopTraining) writes its last state, too, so it can be resumed
    from there.

    A checkpoint also holds the counters of listeners such as EarlyStopping, the best weights that
    they may restore, and the state of each worker. With a codec, that is a vector as long as the
    weights for each worker, which the driver collects only for checkpoints and snapshots. Table
    rows in files (`AllReduceSGD.table_folder`) are copied to `tables/` in the folder, each file
    once for all checkpoints that share it.
    """

    path: PathName = option(
        Path(),
        "Folder, local or a URI. Each checkpoint is a saved model in it, such as round-00000120.",
    )
    every_rounds: int | None = option(
        Integer(minimum=1),
        "Write when the number of rounds done is a multiple of this.",
        default=None,
    )
    every_minutes: float | None = option(
        Number(above=0),
        "Write at the end of a round once this much time has passed since the last checkpoint. "
        "If workers stay for the whole fit, it is a round after which they sent the state.",
        default=None,
        unit="minutes",
    )
    keep: int = option(Integer(minimum=1), "Number of most recent checkpoints to keep.", default=3)


def check_folder(options):
    """Raises CheckpointError if the folder of checkpoints can have none.

    It may be a file or below one, read-only, or in a bucket that does not exist.
    """
    is_local = files.is_local(options.path)
    check_place(path_of(options, rounds=0) if is_local else options.path)


def path_of(options, rounds):
    """Returns the path of the checkpoint after this number of rounds."""
    return f"{as_text(options.path)}/round-{rounds:08d}"


class CheckpointWriter(Listener):
    """Writes checkpoints during a fit.

    `last` is the path of the newest one, None before the first.
    """

    def __init__(self, options, clock=time.monotonic):
        self.options = options
        self.clock = clock
        self.last = self._saved_rounds = None
        self._pool = TablePool(as_text(options.path))

    def on_fit_start(self, plan: FitPlan) -> None:
        """Raises CheckpointError if checkpoints of another run would get mixed with this fit's.

        Also if the folder can have none; see check_folder.
        """
        check_folder(self.options)
        self._conf, self._extra, self._written_at = plan.conf, plan.extra, self.clock()
        self._history, self._steering, self._saved_rounds = plan.history, plan.steering, None
        self._make_way(plan.rounds)
        repair(self.options.path)
        present = list_checkpoints(self.options.path)
        self.last = present[max(present)] if present else None

    def _make_way(self, start):
        """Moves damaged checkpoints aside if the fit starts from the complete one before them."""
        present, damaged = list_checkpoints(self.options.path), {}
        for rounds in (rounds for rounds in sorted(present) if rounds > start):
            path, error = present[rounds], damage_of(present[rounds])
            begin = f"{path} is ahead of round {start}, where this fit starts"
            if error is None:
                cure = "resume from it, remove it, or choose another path"
                raise CheckpointError(f"{begin}; {cure}")
            if start not in present or damage_of(present[start]) is not None:
                cure = "remove it, or choose another path"
                raise CheckpointError(f"{begin}, and is damaged ({error}); {cure}") from error
            damaged[rounds] = path
        for rounds, path in damaged.items():
            aside = f"{self._path_of(rounds)}.damaged-{uuid.uuid4().hex[:8]}"
            files.move(path, aside)
            log.warning(
                "%s is damaged; renamed it to %s, as this fit trains its rounds again", path, aside
            )

    def on_round(self, report: RoundReport, state: "TrainState | None") -> None:
        if state is not None and self._is_due(state):
            self._save(state)

    def on_epoch(self, report: EpochReport, state: "TrainState") -> None:
        if self.options.every_rounds is None and self.options.every_minutes is None:
            self._save(self._steering.steer(state))
        else:
            self._write_again(state)

    def on_validation(self, report: "ValidationReport", state: "TrainState") -> None:
        if not state.starts_epoch:  # otherwise on_epoch follows
            self._write_again(state)

    def on_stop(self, state: "TrainState") -> None:
        """Writes the last state of a fit that a listener has stopped, unless this fit wrote it.

        Raises DivergedError for weights that are not finite.
        """
        if state.rounds and self._saved_rounds != state.rounds:
            self._save(self._steering.steer(state))

    def _write_again(self, state):
        """Rewrites the checkpoint of the last round, to record what listeners have been told."""
        if self.last == self._path_of(state.rounds):
            self._save(self._steering.steer(state))

    def _save(self, state):
        if self._history is not None:
            self._history.note_sums(self._extra)
        self.write(self._conf, state, self._extra)

    def _is_due(self, state):
        rounds, minutes = self.options.every_rounds, self.options.every_minutes
        by_rounds = rounds is not None and state.rounds % rounds == 0
        return by_rounds or (
            minutes is not None and self.clock() - self._written_at >= 60 * minutes
        )

    def write(self, conf: "Conf", state: "TrainState", extra: Mapping[str, Any]) -> None:
        """Saves the state and deletes all but the last `keep` checkpoints. Raises DivergedError."""
        self._refuse_diverged(state)
        path = self._path_of(state.rounds)
        save_model(path, conf, state, extra, pool=self._pool)
        self.last, self._written_at, self._saved_rounds = path, self.clock(), state.rounds
        self._prune(state.rounds)

    def _path_of(self, rounds):
        return path_of(self.options, rounds)

    def _refuse_diverged(self, state: "TrainState") -> None:
        """Raises DivergedError, except for infinite buffers, which may be constants."""
        if not np.isfinite(state.params).all() or np.isnan(state.buffers).any():
            good = f"the last good checkpoint is {self.last}" if self.last else "no checkpoint yet"
            raise DivergedError(f"weights are not finite after round {state.rounds}; {good}")

    def _prune(self, newest):
        """Deletes all but the last `keep` checkpoints up to the one just written, which is
        complete.
        """
        present = list_checkpoints(self.options.path)
        older = sorted(rounds for rounds in present if rounds <= newest)
        for rounds in older[: -self.options.keep]:
            files.remove(present[rounds])
        try:
            if self._pool.exists():
                self._pool.prune(needed_digests(self.options.path))
        except (CheckpointError, DataError) as error:  # the files that one needs are unknown
            log.warning("files of rows are left in %s for now: %s", self._pool.path, error)


def latest(path: str | PathLike[str]) -> str:
    """Returns the path of the newest complete checkpoint under `path`.

    Raises
    ------
    CheckpointError
        If there is none; names those that are damaged.
    """
    return _newest(path)[0]


def load_checkpoint(path: str | PathLike[str]) -> "tuple[Conf, TrainState, dict[str, Any]]":
    """Loads (NetworkConf, TrainState, extra) from a model, or from the newest one in a folder."""
    path = as_text(path)
    return load_model(path) if files.exists(f"{path}/{MANIFEST}") else _newest(path)[1]


def list_checkpoints(path: str | PathLike[str]) -> dict[int, str]:
    """Returns {rounds: path} of all checkpoints in a folder, complete or not.

    A checkpoint that was being replaced when its fit was killed has a hidden name; it counts if
    what replaces it is not complete, as an object store moves one file after the other. Empty if
    the folder does not exist.
    """
    present: dict[int, str] = {}
    for name in _names(path):  # hidden names come first
        beside, what = files.parse_hidden(name) or (name, "")
        if what != "new" and (match := NAME.fullmatch(beside)):
            rounds, one = int(match[1]), f"{as_text(path)}/{name}"
            if rounds not in present or damage_of(one) is None or damage_of(present[rounds]):
                present[rounds] = one
    return present


def repair(path: str | PathLike[str]) -> None:
    """Deletes unfinished checkpoints of killed fits, and restores those being replaced."""
    wanted = list_checkpoints(path).values()
    for name in _names(path):
        beside, _ = files.parse_hidden(name) or ("", "")
        if NAME.fullmatch(beside):
            hidden, visible = f"{as_text(path)}/{name}", f"{as_text(path)}/{beside}"
            if hidden not in wanted:
                files.remove(hidden)
            else:
                files.remove(visible)  # an incomplete one
                files.move(hidden, visible)
    TablePool(as_text(path)).remove_unfinished()


def needed_digests(path: str | PathLike[str]) -> set[str]:
    """Returns the checksums of all shared files that checkpoints in a folder need.

    Raises CheckpointError if a checkpoint cannot be read.
    """
    return set().union(*map(shared_digests, list_checkpoints(path).values()))


def _names(path):
    """Returns the names in a folder, [] if it does not exist."""
    path = as_text(path)
    return files.list(path) if files.exists(path) else []


def damage_of(path):
    """Returns the CheckpointError that loading a checkpoint raises, or None if it is complete."""
    try:
        _load_whole(path)
    except CheckpointError as error:
        return error
    return None


def _load_whole(path):
    """Returns the result of `load_model` for a checkpoint whose files are all complete."""
    model = load_model(path)
    for state in filter(None, (model[1], model[2].get(ENDING))):
        verify_tables(state.tables)
    return model


def _newest(path):
    present, damaged = list_checkpoints(path), []
    for rounds in sorted(present, reverse=True):
        try:
            model = _load_whole(present[rounds])
        except CheckpointError as error:
            damaged.append(str(error))
            continue
        for reason in damaged:
            log.warning("skipped a damaged checkpoint: %s", reason)
        return present[rounds], model
    if damaged:
        raise CheckpointError(f"{path}: no checkpoint is whole: {'; '.join(damaged)}")
    raise CheckpointError(f"{path}: there are no checkpoints")
