"""Rendezvous, through which processes exchange a few lines of text before they are connected."""

import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from sparkdl.errors import UnsupportedError, WorkerError, require
from sparkdl.exchange.connections.deadline import Deadline
from sparkdl.own_folders import make_own_folder, open_own, replaced_file

FIRST_PAUSE, LONGEST_PAUSE = 0.002, 0.1
LONGEST_TEXT = 1 << 20  # bytes; a process sends a few hundred


class Rendezvous(Protocol):
    """The means by which a group forms: one object per process, with ranks from 0 to size - 1."""

    rank: int
    size: int

    def all_gather(self, text, timeout):
        """Returns [text of each rank]; all ranks may call it repeatedly.

        Raises
        ------
        WorkerError
            Names the ranks whose text did not arrive within `timeout` seconds.
        """


class FileRendezvous:
    """A rendezvous through a shared folder, on one machine or a common file system.

    Parameters
    ----------
    folder : path
        Must be used by this group only: files of an earlier group would be taken for answers. Must
        belong to this user only; if it does not exist, it is created with mode 0700.
    rank, size : int
    """

    def __init__(self, folder, rank, size):
        self.folder, self.rank, self.size = Path(folder), rank, size
        check_place(self)
        self._round = 0

    def all_gather(self, text, timeout):
        """Returns [text of each rank]; raises WorkerError naming absent ranks after `timeout`
        seconds.

        Also raises WorkerError if the folder or a file in it is not private to this user.
        """
        number, self._round = self._round, self._round + 1
        self._leave(number, text)
        deadline, pause = Deadline(timeout), FIRST_PAUSE
        texts, missing = {}, range(self.size)
        while missing:
            texts.update(self._present(number, missing))
            missing = [rank for rank in missing if rank not in texts]
            if missing and deadline.has_passed():
                raise absent_ranks_error(missing, self.size, timeout, self.folder)
            time.sleep(pause if missing else 0)
            pause = min(2 * pause, LONGEST_PAUSE)
        if number:  # all have reached this round, hence read the previous one
            self._file(number - 1, self.rank).unlink(missing_ok=True)
        return [texts[rank] for rank in range(self.size)]

    def _leave(self, number, text):
        """Writes the text and renames it into place, so that nobody reads half of it."""
        with self._name_errors():
            make_own_folder(self.folder)
            with replaced_file(self._file(number, self.rank), 0o600) as file:
                file.write(text.encode())

    def _present(self, number, ranks):
        for rank in ranks:
            with self._name_errors(), suppress(FileNotFoundError):
                yield rank, read_text(self._file(number, rank))

    @contextmanager
    def _name_errors(self):
        try:
            yield
        except FileNotFoundError:
            raise
        except (OSError, UnsupportedError) as error:
            raise WorkerError(f"processes cannot meet in {self.folder}: {error}") from error

    def _file(self, number, rank):
        return self.folder / f"{number}-{rank}"


def read_text(path):
    """Returns the text of a regular file of this user, without blocking or following links.

    Raises WorkerError, without quoting the contents, if they cannot be a process's text.
    """
    try:
        with open_own(path) as file:
            length = os.fstat(file.fileno()).st_size
            content = file.read(LONGEST_TEXT + 1)
    except UnsupportedError as error:
        raise WorkerError(str(error)) from None
    if len(content) > LONGEST_TEXT:
        raise WorkerError(f"{path} must have at most {LONGEST_TEXT} bytes, got {length}")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise WorkerError(f"{path} must hold a process's text, got other bytes") from None


def check_place(rendezvous):
    """Raises ConfigError unless 0 <= rank < size."""
    rank, size = rendezvous.rank, rendezvous.size
    require(rendezvous, "size", type(size) is int and size >= 1, "an integer >= 1")
    holds = type(rank) is int and 0 <= rank < size
    require(rendezvous, "rank", holds, f"an integer from 0 to {size - 1}")


def absent_ranks_error(missing, size, timeout, where):
    """Returns a WorkerError that names the ranks which did not arrive."""
    names = ", ".join(map(str, missing[:20])) + (", ..." if len(missing) > 20 else "")
    return WorkerError(
        f"{len(missing)} of {size} processes have not come to {where} within {timeout:g} s: "
        f"rank {names}"
    )
