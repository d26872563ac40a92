"""Folders of checkpoints: each is of one fit, which may be resumed from it.

A cross-validation fits copies of one estimator on other rows. Resumed from each other's checkpoints
they would have seen the rows that they are judged by, so a folder is refused to a second fit while
the first one runs, and after its end, also by a listener. A fit that was interrupted leaves its
folder free, and so does another process.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

from sparkdl.data import files
from sparkdl.errors import ConfigError
from sparkdl.training.saving.checkpoint import Checkpoints, list_checkpoints
from sparkdl.training.saving.manifest import as_text

_LOCK = Lock()
_RUNNING: set[str] = set()
_COMPLETE: set[str] = set()
CURE = (
    "give each fit its own, in its param map {estimator.checkpoints: Checkpoints(path=...)}, and "
    "none to a CrossValidator or a TrainValidationSplit"
)


@contextmanager
def claimed_folder(owner: str, checkpoints: Checkpoints | None) -> Iterator[None]:
    """Keeps other fits of this process out of a folder of checkpoints, if there is one.

    Parameters
    ----------
    owner : str
        Class of the estimator, for errors.
    checkpoints : Checkpoints or None

    Raises
    ------
    ConfigError
        If another fit runs there, or one that has ended has left its checkpoints.
    """
    if checkpoints is None:
        yield
        return
    folder = folder_of(checkpoints)
    claim(owner, folder)
    try:
        yield
        _COMPLETE.add(folder)
    finally:
        _RUNNING.discard(folder)


def claim(owner: str, folder: str) -> None:
    """Marks a folder as that of a running fit. Raises as `claimed_folder`."""
    with _LOCK:
        if folder in _RUNNING or (folder in _COMPLETE and list_checkpoints(folder)):
            state = "runs" if folder in _RUNNING else "has ended"
            raise ConfigError(
                f"{owner}.checkpoints must be in a folder that no other fit of this process has, "
                f"got {folder!r}, where one {state}; {CURE}"
            )
        _RUNNING.add(folder)
        _COMPLETE.discard(folder)


def folder_of(checkpoints: Checkpoints) -> str:
    """Returns the path of a folder, a local one as an absolute path."""
    return files.absolute(as_text(checkpoints.path))


def check_param_maps(stage: Any, maps: Sequence[dict[Any, Any]]) -> None:
    """Raises ConfigError if the fits of several param maps would share a folder."""
    given = [stage.copy(one).getCheckpoints() for one in maps]
    folders = [folder_of(one) for one in given if one is not None]
    inherited = stage.getCheckpoints() is not None and any(
        stage.checkpoints not in one for one in maps
    )
    if inherited or len(set(folders)) < len(folders):
        raise ConfigError(
            f"{type(stage).__name__}.checkpoints must be in a folder for each param map, got "
            f"{folders} for {len(maps)}; {CURE}"
        )


def folder_to_resume(owner: str, checkpoints: Checkpoints | None, resume: bool) -> str | None:
    """Returns the folder whose newest checkpoint a fit continues from; None if the fit begins.

    Raises ConfigError if a fit without checkpoints is to be resumed.
    """
    if not resume:
        return None
    if checkpoints is None:
        raise ConfigError(
            f"{owner}.resume must be False where there are no checkpoints, got True; give "
            "checkpoints=Checkpoints(path=...)"
        )
    path = as_text(checkpoints.path)
    return path if list_checkpoints(path) else None
