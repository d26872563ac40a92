"""A listener that logs which workers slow down the others."""

import logging
import statistics
from collections import deque
from typing import Any

from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.reports import RoundReport

ROUNDS, FACTOR, LEAST = 20, 1.5, 1.0  # rounds examined; times the median; seconds lost in all

log = logging.getLogger(__name__)


class SlowWorkerLog(Listener):
    """Logs, once for each worker, that it reads and computes much longer than the others.

    That is over 1.5 times as long as the median worker in each of 20 rounds, and a second in total.
    The count restarts when another number of workers trains, as after a restart.
    """

    def __init__(self) -> None:
        self._rounds: deque[tuple[float, tuple[float, ...]]] = deque(maxlen=ROUNDS)
        self._named: set[int] = set()

    def on_round(self, report: RoundReport, state: Any) -> None:
        seconds = tuple(one.busy for one in report.by_worker)
        if len(seconds) < 3 or (self._rounds and len(self._rounds[-1][1]) != len(seconds)):
            self._rounds.clear()
        if len(seconds) < 3:  # a median of two means little
            return
        median = statistics.median(seconds)
        self._rounds.append((median, seconds))
        for rank, own in enumerate(seconds):
            if own > FACTOR * median and rank not in self._named:
                self._look_at(rank)

    def _look_at(self, rank):
        medians = [median for median, _ in self._rounds]
        own = [seconds[rank] for _, seconds in self._rounds]
        is_slow = all(mine > FACTOR * median for mine, median in zip(own, medians, strict=True))
        if len(own) == ROUNDS and is_slow and sum(own) - sum(medians) > LEAST:
            self._named.add(rank)
            log.warning(
                "rank %d is slow: it has read and computed for %.1f s in %d rounds, the median "
                "worker for %.1f s; its host may be busy, or its records larger",
                *(rank, sum(own), ROUNDS, sum(medians)),
            )
