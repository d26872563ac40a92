"""Rendezvous, where processes that know nothing of each other yet exchange a few lines of text."""

import os
import time
from pathlib import Path
from typing import Protocol

from sparkdl.errors import WorkerError, require
from sparkdl.exchange.connections.deadline import Deadline

FIRST_PAUSE, LONGEST_PAUSE = 0.002, 0.1


class Rendezvous(Protocol):
    """The means by which a group forms: one per process, ranks from 0 to size - 1."""

    rank: int
    size: int

    def all_gather(self, text, timeout):
        """Returns [text of each rank, in order]; may be called again, by all.

        Raises
        ------
        WorkerError
            Names the ranks whose text has not come within `timeout` seconds.
        """


class FileRendezvous:
    """Through a folder that all see; processes of one machine, or of one file system.

    Parameters
    ----------
    folder : path
        Of this group alone: an earlier one's files would be taken for answers.
    rank, size : int
    """

    def __init__(self, folder, rank, size):
        self.folder, self.rank, self.size = Path(folder), rank, size
        check_place(self)
        self._round = 0

    def all_gather(self, text, timeout):
        """Returns [text of each rank]; WorkerError names who is missing after `timeout` seconds."""
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
        if number:  # all have come to this round, so all have read the one before
            self._file(number - 1, self.rank).unlink(missing_ok=True)
        return [texts[rank] for rank in range(self.size)]

    def _leave(self, number, text):
        """Renames into place, so that nobody reads half a text."""
        self.folder.mkdir(parents=True, exist_ok=True)
        place = self._file(number, self.rank)
        temporary = place.with_suffix(f".{os.getpid()}")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(place)

    def _present(self, number, ranks):
        for rank in ranks:
            try:
                yield rank, self._file(number, rank).read_text(encoding="utf-8")
            except FileNotFoundError:
                continue

    def _file(self, number, rank):
        return self.folder / f"{number}-{rank}"


def check_place(rendezvous):
    """Raises ConfigError unless 0 <= rank < size."""
    rank, size = rendezvous.rank, rendezvous.size
    require(rendezvous, "size", type(size) is int and size >= 1, "an integer >= 1")
    holds = type(rank) is int and 0 <= rank < size
    require(rendezvous, "rank", holds, f"an integer from 0 to {size - 1}")


def absent_ranks_error(missing, size, timeout, where):
    """Returns the error that names the ranks which have not come."""
    names = ", ".join(map(str, missing[:20])) + (", ..." if len(missing) > 20 else "")
    return WorkerError(
        f"{len(missing)} of {size} processes have not come to {where} within {timeout:g} s: "
        f"rank {names}"
    )
