"""All checks by several processes at once, as long as there is time."""

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from threading import local

from tests.benchmarks.cpu.processes import Failed, Process
from tests.benchmarks.gpu.correctness import Finding
from tests.benchmarks.gpu.sides import environment

LONGEST = 120  # seconds that one check may take
MOST = 8  # processes, of two threads each: the reference computes as well
THREADS = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}


class Checker:
    """The process of one thread; it is made anew where the device does no more what it should."""

    def __init__(self, *words):
        self.words, self.process = words, None

    def find(self, check, limit=LONGEST):
        """The Finding of (kind, name, dtype)."""
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
    """A Finding of each check, as they come; those that the time does not suffice for say so.

    Parameters
    ----------
    checks : [(kind, name, dtype)]
    until : of time.monotonic()
    count : processes, or None for half as many as there are processors
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
