"""A seed's scenario: how many ranks, on which network, what they do, and what goes wrong."""

import gc
import logging
import math
from contextlib import contextmanager
from dataclasses import dataclass, field
from traceback import extract_tb

from sparkdl.errors import PeerError, WorkerError
from sparkdl.exchange.connections.endpoint import Endpoint
from sparkdl.exchange.group import Group
from sparkdl.exchange.rendezvous.address_rendezvous import AddressRendezvous, RendezvousServer
from tests.chaos.simulation import calls
from tests.chaos.simulation.installed import installed
from tests.chaos.simulation.network import Network
from tests.chaos.simulation.world import Process, World

SECRET = b"a secret of the simulation"
TIMEOUT, STALL = 8.0, 30.0  # seconds, of the group
STARTS = 1.0  # seconds within which ranks start
LIMIT = STARTS + 5 * TIMEOUT + 2 * STALL + 20
PROMPT = 3.0  # seconds in which all know of what can be known at once
# What goes wrong, and seconds in which all that live have got their error; None: none has one.
FAULTS = {
    "nothing": None,
    "a slow process": None,
    "stopped for a short time": None,
    "cut off for a short time": None,
    "killed": PROMPT,
    "stopped": 1.5 * TIMEOUT + PROMPT,
    "cut off": 1.5 * TIMEOUT + PROMPT,
    "cut off one way": 1.5 * TIMEOUT + PROMPT,
    "halves cut off": 1.5 * TIMEOUT + PROMPT,
    "leaves early": STALL + TIMEOUT,
    "makes another call": STALL + TIMEOUT,
    "keeps the others waiting": STALL + TIMEOUT,
    "does not come": STARTS + TIMEOUT + PROMPT,
}
ASTRAY = "leaves early", "makes another call", "keeps the others waiting"  # in the last call
WEIGHTS = [3, *[1] * (len(FAULTS) - 1)]
SIZES = [2, 3, 4, 5, 6, 7, 8, 11, 16, 27, 64]
SIZE_WEIGHTS = [9, 12, 9, 6, 5, 4, 4, 2, 0.8, 0.3, 0.06]


@dataclass
class Outcome:
    """What a rank has come to."""

    formed: float = math.inf  # when
    ended: float = math.inf
    error: object = None
    right: list = field(default_factory=list)  # of each call


class Scenario:
    """The world of a seed, with what is drawn for it."""

    def __init__(self, seed, size=None, fault=None):
        self.seed, self.world = seed, World(seed, LIMIT)
        random = self.world.random
        self.size = size or random.choices(SIZES, SIZE_WEIGHTS)[0]
        self.fault = fault or random.choices(list(FAULTS), WEIGHTS)[0]
        self.culprit = random.randrange(self.size)
        self.calls = calls.drawn(random, self.size)
        self.network = Network(self.world)
        self.driver = Process("driver")
        self.ranks = [Process(f"host{rank}") for rank in range(self.size)]
        self.network.hosts = {one.name: one for one in (self.driver, *self.ranks)}
        for process in self.network.hosts.values():
            process.address = (process.name, 0)
        self.outcomes = [Outcome() for _ in self.ranks]
        self.starts = [random.random() * STARTS for _ in self.ranks]
        self.address, self.moment = None, math.inf
        self._plan(random)

    def __str__(self):
        return f"seed {self.seed}: {self.size} ranks, {self.fault} (rank {self.culprit})"

    @property
    def errors(self):
        """That each rank has ended with, by rank; None of those without."""
        return [outcome.error for outcome in self.outcomes]

    def run(self):
        """Returns how the world ended: "done", "deadlock" or "limit"."""
        with installed(self.network), silent_logs(), no_collections():
            self.world.start(self.driver, self._drive)
            for rank, process in enumerate(self.ranks):
                if not (self.fault == "does not come" and rank == self.culprit):
                    main = lambda rank=rank: self._work(rank)  # noqa: E731
                    self.world.start(process, main, f"rank {rank}", awaited=True)
            return self.world.run()

    def _plan(self, random):
        """Has the fault happen at its moment."""
        self.moment = random.uniform(0.0, STARTS + len(self.calls) * calls.COMPUTES)
        culprit, long = self.ranks[self.culprit], self.moment + 4 * TIMEOUT
        until = random.choice([long, math.inf])
        if self.fault == "halves cut off":
            self.network.cut(set(self.ranks[: max(1, self.size // 2)]), self.moment, until)
            return
        until = long if self.fault == "stopped" else until
        cause(self.fault, self.network, culprit, self.moment, until)

    # The programs

    def _drive(self):
        with Endpoint(SECRET, timeout=TIMEOUT) as endpoint:
            RendezvousServer(self.size, endpoint)
            self.address = endpoint.address
            self._sleep(LIMIT)

    def _work(self, rank):
        outcome = self.outcomes[rank]
        try:
            self._sleep(self.starts[rank])
            place = AddressRendezvous(self.address, SECRET, rank, self.size, timeout=TIMEOUT)
            with place:
                group = self._formed(place)
            with group:
                outcome.formed = self.world.now
                for number, (name, length, seconds) in enumerate(self.calls):
                    self._sleep(seconds)
                    if rank == self.culprit and number == len(self.calls) - 1:
                        if self.fault == "leaves early":
                            break
                        if self.fault == "makes another call":
                            name = "broadcast" if name == "barrier" else "barrier"
                        elif self.fault == "keeps the others waiting":
                            self._sleep(2 * STALL)
                    outcome.right.append(bool(calls.CALLS[name](group, length)))
        except WorkerError as error:
            outcome.error = error
        outcome.ended = self.world.now

    def _formed(self, place):
        limits = {"timeout": TIMEOUT, "stall_timeout": STALL}
        return Group.form(place, SECRET, shared_memory=False, **limits)

    def _sleep(self, seconds):
        self.world.wait([], self.world.now + seconds)

    # What must hold

    def faults(self, end):
        """Returns a text for each promise that was not kept."""
        found = [where(task) for task in self.world.tasks if task.error is not None]
        if end != "done":
            found.append(f"it ended by {end} at {self.world.now:g} s")
        alive = [rank for rank in range(self.size) if self._lives(rank)]
        for rank in alive:
            found += self._faults_of(rank)
        return [*found, *self._disagreement(alive)]

    def _lives(self, rank):
        gone = self.fault in ("killed", "does not come") and rank == self.culprit
        return not gone or self.outcomes[rank].ended < math.inf

    def _faults_of(self, rank):
        outcome, seconds = self.outcomes[rank], FAULTS[self.fault]
        if not all(outcome.right):
            yield f"rank {rank} has wrong results"
        if outcome.error is None:
            wanted = len(self.calls) - (self.fault == "leaves early" and rank == self.culprit)
            if outcome.ended < math.inf and len(outcome.right) != wanted:
                yield f"rank {rank} made {len(outcome.right)} calls and has no error"
            return
        if seconds is None:
            yield f"rank {rank} has an error: {outcome.error}"
        elif self.fault == "does not come":
            if outcome.ended > seconds or f"rank {self.culprit}" not in str(outcome.error):
                yield f"rank {rank} has at {outcome.ended:g} s: {outcome.error}"
        elif self._all_formed() and rank != self.culprit:
            late = outcome.ended - (self._last_call() or self.moment)
            if late > seconds:
                yield f"rank {rank} has its error {late:g} s after the fault: {outcome.error}"

    def _last_call(self):
        """When all had formed and would have made the call in which a rank goes astray."""
        if self.fault not in ASTRAY:
            return 0.0
        return max(outcome.formed for outcome in self.outcomes) + sum(s for *_, s in self.calls)

    def _all_formed(self):
        before = math.inf if self.fault in ASTRAY else self.moment
        return all(outcome.formed < before for outcome in self.outcomes)

    def _disagreement(self, alive):
        """Yields why errors do not name the one who is at fault, where one is."""
        single = self.fault in ("killed", "stopped", "cut off", "cut off one way")
        if not (single and self._all_formed()) and self.fault != "keeps the others waiting":
            return
        for rank in alive:
            error = self.outcomes[rank].error
            if rank == self.culprit or error is None:
                continue
            if not isinstance(error, PeerError) or error.rank != self.culprit:
                yield f"rank {rank} blames another: {error}"


def cause(fault, network, culprit, moment, until):
    """Has the fault of a process happen at its moment; one that is not short ends at `until`."""
    until = moment + 0.4 * TIMEOUT if fault.endswith("for a short time") else until
    if fault == "a slow process":
        culprit.slowness = 0.02
    elif fault == "killed":
        network.world.at(moment, lambda: network.kill(culprit))
    elif fault.startswith("stopped"):
        network.world.at(moment, lambda: stop(culprit, until))
    elif fault.startswith("cut off"):
        network.cut({culprit}, moment, until, fault == "cut off one way")


@contextmanager
def silent_logs():
    """What the exchange warns of belongs to the faults here."""
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


@contextmanager
def no_collections():
    """Heartbeats end with what they are of; when garbage is collected follows from no seed."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def where(task):
    """Returns what a task has failed with, which none should, and where."""
    places = [f"{frame.name}:{frame.lineno}" for frame in extract_tb(task.error.__traceback__)]
    return f"{task.name} of {task.process.name}: {task.error!r} in {' '.join(places[-6:])}"


def stop(process, until):
    process.stopped_until = until
