"""A seed's store: workers push and pull, things go wrong, and all begin again from a snapshot.

The model: a value has a place for each push of each worker, which adds 1 to it. So what was lost
is 0, and what was applied twice is 2.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from sparkdl.errors import PeerError, WorkerError
from sparkdl.exchange.connections.endpoint import Endpoint
from sparkdl.exchange.group import Group
from sparkdl.exchange.rendezvous.address_rendezvous import AddressRendezvous, RendezvousServer
from sparkdl.exchange.store import KeyValueStore, Places
from tests.chaos.simulation.installed import installed
from tests.chaos.simulation.network import Network
from tests.chaos.simulation.scenario import (
    SECRET,
    SIZE_WEIGHTS,
    SIZES,
    STALL,
    TIMEOUT,
    cause,
    no_collections,
    silent_logs,
    where,
)
from tests.chaos.simulation.world import Process, World

COMPUTES = 0.4  # seconds of a step, at most
ATTEMPT = 400.0  # seconds, at most
# What goes wrong in an attempt, and whether anybody may have an error.
FAULTS = {
    "nothing": False,
    "a slow process": False,
    "stopped for a short time": False,
    "cut off for a short time": False,
    "killed": True,
    "stopped": True,
    "cut off": True,
    "cut off one way": True,
}
MODES = {
    "sync": {"big": 5},
    "with a backup": {"backup": 1},  # whole: each server drops pushes of its own
    "bounded": {"mode": "bounded", "staleness": 2, "big": 5},
    "async": {"mode": "async", "big": 5},
}


@dataclass
class Attempt:
    """What a start of all workers came to."""

    fault: str
    first: int  # step that it begins with
    culprit: int
    processes: list
    moment: float  # of the fault
    formed: dict = field(default_factory=dict)  # when each rank had its store
    errors: dict = field(default_factory=dict)
    ended: dict = field(default_factory=dict)


class StoreScenario:
    """The world of a seed: several attempts, the last of which nothing happens to."""

    def __init__(self, seed, size=None, fault=None):
        self.world = World(seed, 4 * ATTEMPT)
        self.seed, self.random = seed, self.world.random
        self.size = size or self.random.choices(SIZES, SIZE_WEIGHTS)[0]
        self.mode = self.random.choice(list(MODES))
        self.servers = self.random.sample(
            range(self.size), min(self.size, self.random.choice((1, 2, 3)))
        )
        self.steps, self.every = self.random.randint(3, 8), self.random.randint(1, 3)
        names = list(FAULTS)
        count = self.random.randint(1, 4)
        self.faults_to_come = [fault or self.random.choice(names) for _ in range(count)]
        self.network, self.attempts, self.broken = Network(self.world), [], []
        self.snapshot = 0, self.zeros()
        self.pushed = {}  # {place: whether it was dropped} of pushes that were answered

    def __str__(self):
        told = [f"{one.fault} (rank {one.culprit})" for one in self.attempts]
        return f"seed {self.seed}: {self.size} workers, {self.mode}, servers {self.servers}: {told}"

    @property
    def errors(self):
        """Those of all attempts, by rank."""
        return [error for one in self.attempts for _, error in sorted(one.errors.items())]

    def zeros(self):
        return np.zeros(self.size * self.steps, np.float32)

    def run(self):
        """Returns how the world ended: "done", "deadlock" or "limit"."""
        driver = self._process("driver")
        with installed(self.network), silent_logs(), no_collections():
            self.world.start(driver, self._supervise, "supervisor", awaited=True)
            return self.world.run()

    # The programs

    def _process(self, name):
        process = self.network.hosts[name] = Process(name)
        process.address = name, 0
        return process

    def _supervise(self):
        while self._try(self.faults_to_come.pop() if self.faults_to_come else "nothing"):
            pass

    def _try(self, fault):
        """Runs all workers from the snapshot on; returns whether they must begin again."""
        number = len(self.attempts)
        processes = [self._process(f"host{rank}.{number}") for rank in range(self.size)]
        left = (self.steps - self.snapshot[0]) * COMPUTES
        moment = self.world.now + self.random.uniform(0, 0.7 * left)
        culprit = self.random.randrange(self.size)
        attempt = Attempt(fault, self.snapshot[0], culprit, processes, moment)
        self.attempts.append(attempt)
        known = attempt.first * self.size
        self.pushed = {place: one for place, one in self.pushed.items() if place < known}
        cause(fault, self.network, processes[culprit], moment, math.inf)
        with Endpoint(SECRET, timeout=TIMEOUT) as endpoint:
            RendezvousServer(self.size, endpoint)
            tasks = [
                self.world.start(
                    process, lambda rank=rank: self._work(attempt, endpoint.address, rank), "worker"
                )
                for rank, process in enumerate(processes)
            ]
            end = self.world.now + ATTEMPT
            while (left := self._running(attempt, tasks)) and self.world.now < end:
                self.world.wait(left, min(end, self.world.now + TIMEOUT))
        if left:
            self.broken.append(f"attempt {number}: {[one.name for one in left]} do not end")
        for process in processes:
            self.network.kill(process)
        return not left and len(attempt.ended) - len(attempt.errors) < self.size

    def _running(self, attempt, tasks):
        """Returns the tasks that are waited for: not those of a process that is gone."""
        gone = attempt.processes[attempt.culprit]
        lost = gone.killed or gone.stopped_until == math.inf
        return [one for one in tasks if not one.ended and not (lost and one.process is gone)]

    def _work(self, attempt, address, rank):
        try:
            with AddressRendezvous(address, SECRET, rank, self.size, timeout=TIMEOUT) as place:
                limits = {"timeout": TIMEOUT, "stall_timeout": STALL}
                with Group.form(place, SECRET, shared_memory=False, **limits) as group:
                    places = Places.of(group, SECRET, timeout=TIMEOUT)
            options = {"servers": self.servers, **limits, **MODES[self.mode]}
            self._train(attempt, KeyValueStore(places, **options), rank)
        except WorkerError as error:
            attempt.errors[rank] = error
        attempt.ended[rank] = self.world.now

    def _train(self, attempt, store, rank):
        try:
            store.init("value", self.snapshot[1].copy())
            store.set_optimizer(add)
            attempt.formed[rank] = self.world.now
            step = attempt.first
            while step < self.steps:
                pause = min(self.steps, step - step % self.every + self.every)
                while step < pause:
                    step = self._step(attempt, store, rank, step)
                self._save(store, rank, pause)
            store.close()
        except BaseException:
            store.abandon()
            raise

    def _step(self, attempt, store, rank, step):
        """Returns the step that follows: who is late leaves some out where others need not wait."""
        self.world.wait([], self.world.now + self.random.random() * COMPUTES)
        gradient, place = self.zeros(), step * self.size + rank
        gradient[place] = 1
        outcome = store.push("value", gradient)
        self.pushed[place] = outcome.dropped
        value = self.zeros()
        version = store.pull("value", value)
        if value[place] != (not outcome.dropped):
            self.broken.append(f"rank {rank} pushed {step}, {outcome}, and pulled {value[place]}")
        self._check(value)
        return step + 1 if self.mode != "with a backup" else attempt.first + version

    def _save(self, store, rank, step):
        store.barrier()
        if rank == 0:
            value = self.zeros()
            store.pull("value", value)
            self._check(value, step)
            self.snapshot = step, value
        store.barrier()

    # What must hold

    def _check(self, value, step=0):
        """Notes places that were applied twice, or before a step are lost."""
        if not np.isin(value, (0, 1)).all():
            self.broken.append(f"applied twice: {np.flatnonzero(value > 1)}")
        for place in np.flatnonzero(value[: step * self.size] == 0):
            if place not in self.pushed and self.mode == "with a backup":
                continue
            if not self.pushed[place]:
                self.broken.append(f"lost: push {divmod(int(place), self.size)}")

    def faults(self, end):
        """Returns a text for each promise that was not kept."""
        found = [where(task) for task in self.world.tasks if task.error is not None]
        if end != "done":
            found.append(f"it ended by {end} at {self.world.now:g} s")
        if self.snapshot[0] != self.steps:
            found.append(f"the last snapshot is of step {self.snapshot[0]} of {self.steps}")
        for attempt in self.attempts:
            found += self._faults_of(attempt)
        return found + self.broken

    def _faults_of(self, attempt):
        late = attempt.moment + 1.5 * TIMEOUT + STALL
        formed = max(attempt.formed.get(rank, math.inf) for rank in range(self.size))
        for rank, error in attempt.errors.items():
            named = isinstance(error, PeerError) and error.rank == attempt.culprit
            if not FAULTS[attempt.fault]:
                yield f"rank {rank} has an error in spite of {attempt.fault!r}: {error}"
            elif attempt.ended[rank] > late:
                yield f"rank {rank} has its error at {attempt.ended[rank]:g} s: {error}"
            elif formed < attempt.moment and rank != attempt.culprit and not named:
                yield f"rank {rank} blames another: {error}"


def add(key, value, gradient, slots):
    value += gradient
