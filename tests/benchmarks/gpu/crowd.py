"""Runs all checks in several processes at once, as long as there is time."""

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from threading import local

from tests.benchmarks.cpu.processes import Failed, Process
from tests.benchmarks.gpu.correctness import Finding
from tests.benchmarks.gpu.sides import environment

LONGEST = 120  # seconds per check
MOST = 8  # processes of two threads each, as the reference computes as well
THREADS = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}


class Checker:
    """A thread's checker process, which is replaced when its device no longer works."""

    def __init__(self, *words):
        self.words, self.process = words, None

    def find(self, check, limit=LONGEST):
        """Returns the Finding of (kind, name, dtype)."""
        try:
            if self.process is None:
                words = [sys.executable, "-m", "tests.benchmarks.gpu.checker", *self.words]
                self.process = Process(words, environment() | THREADS, limit)
            self.process.limit = limit
            answer = self.process.asked(json.dumps(check))
        except Failed as error:
            self.process = None
            return Finding(*check[1:], None, f"its process ended: {error}"[:160])
        if not answer["alive"]:
            self.close()
        return Finding(**answer["finding"])

    def close(self):
        if self.process is not None:
            self.process.close()
        self.process = None


def findings(checks, until, make=Checker, count=None):
    """Yields a Finding of each check as it completes; those out of time say so.

    Parameters
    ----------
    checks : [(kind, name, dtype)]
    until : a time of time.monotonic()
    count : number of processes, or None for half the number of processors
    """
    count = count or max(1, min(MOST, (os.cpu_count() or 1) // 2))
    own, made = local(), []

    def find(check):
        left = until - time.monotonic()
        if left <= 0:
            return Finding(*check[1:], None, "there was no time left for it")
        if not hasattr(own, "checker"):
            own.checker = make()
            made.append(own.checker)
        return own.checker.find(check, min(LONGEST, left))

    with ThreadPoolExecutor(count) as pool:
        try:
            for done in as_completed([pool.submit(find, check) for check in checks]):
                yield done.result()
        finally:
            pool.shutdown(cancel_futures=True)
            for checker in made:
                checker.close()
