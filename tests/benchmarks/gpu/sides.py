"""The processes timed on the GPU, and the comparison of their figures."""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median
from tempfile import TemporaryDirectory

from tests.benchmarks.cpu.processes import Failed, Process
from tests.benchmarks.gpu.workloads import WORKLOADS
from tests.benchmarks.peers.environment import ROOT

OURS, MODES = "sparkdl", ("eager", "compile", "graph")
PRODUCT, COPY = "product", "copy"
TRAFFIC = 28  # bytes of Adam's step per parameter: 4 vectors read, 3 written


def environment():
    """Returns a process's environment, in which it finds the project and other packages."""
    places = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(places)}


class Side:
    """A process on the GPU, with its own folder for temporary files.

    `limit` is the timeout of an answer in seconds.
    """

    def __init__(self, workload, mode, limit):
        module = "our_worker" if mode == OURS else "torch_worker"
        words = [sys.executable, "-m", f"tests.benchmarks.gpu.{module}", workload]
        words += [] if mode == OURS else [mode]
        self.folder = TemporaryDirectory()
        try:
            self.process = Process(words, environment() | {"TMPDIR": self.folder.name}, limit)
        except Failed:
            self.folder.cleanup()
            raise
        self.facts = self.process.facts

    def measure(self, burst):
        """Returns seconds per step, the median over the calls that fit into `burst` seconds."""
        try:
            first = self.process.ask(1)[0]
            calls = [first, *self.process.ask(max(2, min(200, round(burst / first))))]
        except Failed:
            self.folder.cleanup()
            raise
        return median(calls) / self.facts["steps"]

    def close(self):
        self.process.close()
        self.folder.cleanup()


@dataclass(frozen=True)
class Measured:
    """A workload's figures.

    Parameters
    ----------
    workload : str
    seconds : {side: [seconds of a step, round by round]}
    facts : {side: facts it reports}
    failed : {side: reason of its failure}
    """

    workload: str
    seconds: dict
    facts: dict
    failed: dict

    def ours(self):
        return self.median(OURS)

    def median(self, side):
        """Returns a side's seconds per step, or None."""
        return median(self.seconds[side]) if self.seconds.get(side) else None

    def best(self):
        """Returns torch's fastest mode, or None if none ran."""
        return min((m for m in MODES if self.median(m)), key=self.median, default=None)

    def ratio(self, mode):
        """Returns the median over rounds of torch's seconds to ours, or None."""
        if not self.median(mode) or not self.ours():
            return None
        pairs = zip(self.seconds[mode], self.seconds[OURS], strict=False)  # one may end early
        return median(theirs / own for theirs, own in pairs)

    def bars(self):
        """Returns [(name, figure or None, bar)] of the workload."""
        row, found = WORKLOADS[self.workload], []
        if row.best is not None:
            mode = self.best() if row.against == "best" else row.against
            found.append((f"x torch {mode or row.against}", self.ratio(mode), row.best))
        if row.least is not None:
            rate = self.ours() and row.batch * row.each / self.ours()
            found.append((f"{row.unit}/s", rate, row.least))
        if row.share is not None:
            found.append(("of the bandwidth", self.bandwidth(), row.share))
        return found

    def shares(self):
        """Returns {name: figure} of the known figures without a bar."""
        row, own = WORKLOADS[self.workload], self.facts.get(OURS, {})
        theirs = self.facts.get(self.best(), {}).get("memory")
        found = {
            f"{row.unit}/s": self.ours() and row.batch * row.each / self.ours(),
            "of the peak": self.peak(),
            "of the roofline": self.roofline(),
            "of the synthetic": self.ours() and own.get("synthetic", 0) / self.ours(),
            "x torch's memory": theirs and own.get("memory", 0) / theirs,
        }
        return {what: figure for what, figure in found.items() if figure}

    def flops(self):
        """Returns FLOP/s of a large matrix product in the workload's dtype, or None."""
        return self.median(PRODUCT) and self.facts[PRODUCT]["flops"] / self.median(PRODUCT)

    def bytes(self):
        """Returns bytes/s of a copy within the device, or None."""
        return self.median(COPY) and self.facts[COPY]["bytes"] / self.median(COPY)

    def bandwidth(self):
        """Returns the optimizer's bytes/s relative to a copy's within the device, or None."""
        if not self.ours() or not self.bytes():
            return None
        return TRAFFIC * self.facts[OURS]["parameters"] / self.ours() / self.bytes()

    def peak(self):
        """Returns FLOP/s relative to a matrix product's, or None."""
        flops = sum(work for work, _ in self.passes())
        return flops / self.ours() / self.flops() if flops and self.flops() else None

    def roofline(self):
        """Returns the minimum time of all passes, by FLOPs or bytes, as a share of our time."""
        if not self.passes() or not self.flops() or not self.bytes():
            return None
        least = (max(work / self.flops(), size / self.bytes()) for work, size in self.passes())
        return sum(least) / self.ours()

    def passes(self):
        """Returns [(flops, bytes read and written)] of each kernel of our step."""
        return self.facts[OURS].get("passes", []) if self.ours() else []


def measured(name, modes, rounds, burst, until, make=Side):
    """Returns a workload's Measured: all sides alternate while there is time.

    Parameters
    ----------
    until : a time of time.monotonic()
    """
    workload, of = WORKLOADS[name], {OURS: (name, OURS)}
    if not workload.stored:
        of |= {PRODUCT: (PRODUCT, workload.dtype), COPY: (COPY, "eager")}
        of |= {mode: (name, mode) for mode in modes}
    sides, failed = opened(of, until, make)
    facts = {name: side.facts for name, side in sides.items()}
    seconds = {name: [] for name in sides}
    try:
        for number in range(rounds):
            if time.monotonic() < until:
                failed |= one_round(sides, seconds, number, burst)
    finally:
        for side in sides.values():
            side.close()
    return Measured(name, {n: found for n, found in seconds.items() if found}, facts, failed)


def one_round(sides, seconds, number, burst):
    """Measures each side once, in an order rotated by round; returns {side: error} of failures."""
    names, failed = list(sides), {}
    for name in names[number % max(len(names), 1) :] + names[: number % max(len(names), 1)]:
        try:
            seconds[name].append(sides[name].measure(burst))
        except Failed as error:  # its process is closed
            failed[name] = str(error)
            del sides[name]
    return failed


def opened(of, until, make):
    """Returns ({name: side}, {name: reason}); sides start in parallel, as some compile for long."""

    def side(words):
        left = until - time.monotonic()
        if left <= 0:
            return Failed("there was no time left for it")
        try:
            return make(*words, left)
        except Failed as error:
            return error

    with ThreadPoolExecutor(len(of)) as pool:
        found = dict(zip(of, pool.map(side, of.values()), strict=True))
    failed = {name: str(one) for name, one in found.items() if isinstance(one, Failed)}
    return {name: one for name, one in found.items() if name not in failed}, failed
