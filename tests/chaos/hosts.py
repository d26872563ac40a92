"""Fits across two hosts, each with one link fault, and their outcomes."""

import json
import random
import select
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.link_faults import LINK_FAULTS, SETTINGS, heal
from tests.chaos.outcome import Outcome, count_losses, wrongs
from tests.chaos.process_faults import LIMIT
from tests.chaos.striker import Striker
from tests.spark.over_hosts import RECORDS, Request
from tests.support.cluster import Cluster, cluster
from tests.support.fork_server import is_spawned
from tests.support.namespaces import two_hosts
from tests.support.waiting import until
from tests.training.master_table import MASTERS

EPOCHS, PAUSE = 3, 0.05
ENOUGH = 300.0  # seconds after which a fit hangs


@dataclass
class Hosts:
    """A cluster on two hosts, with the driver on the left and the faults on the right."""

    made: Cluster
    driver: subprocess.Popen
    faults: tuple[str, ...]

    def __post_init__(self):
        self._calm = {}

    def take_turn(self, seed):
        """Returns the Outcome of a fit with a fault, both drawn from this seed."""
        draw = random.Random(seed)
        name, fault = draw.choice(list(MASTERS)), draw.choice(self.faults)
        after = draw.randrange(2, RECORDS * EPOCHS // 8)
        expected, start = self.calm(name), time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            request = self.request(name, folder)
            striker = Striker(request.transform, after, self.hurting(LINK_FAULTS[fault]))
            striker.start()
            found = self.ask(request)
            times = time.monotonic() - start, striker.wait
            striker.end()
        heal(self.made.right)
        error, wrong = found.get("error", ""), []
        if not error:
            same = found["vectors"] == expected["vectors"]
            wrong += wrongs(MASTERS[name], same, found["examples"], [RECORDS] * EPOCHS)
        if left := self.left():
            wrong.append(f"processes left: {left}")
        restarts = count_losses(found.get("restarts", ()))
        return Outcome(
            name, fault, "a source", striker.struck, *times, restarts, error, tuple(wrong)
        )

    def hurting(self, do):
        def hurt(over):
            do(self.made.right, over)
            return True

        return hurt

    def calm(self, name):
        """Returns the driver's answer for a fit without faults."""
        if name not in self._calm:
            with tempfile.TemporaryDirectory() as folder:
                self._calm[name] = self.ask(self.request(name, folder))
        return self._calm[name]

    def request(self, name, folder):
        options = {"workers": 3}  # on two slots: one task has two workers
        if MASTERS[name].master.resident:
            options |= {"timeout": LIMIT, "stall_timeout": 10 * LIMIT, "snapshot_every": 2}
            options |= {"shared_memory": False}  # sums do not depend on who shares a host
        return Request(name=name, folder=folder, pause=PAUSE, epochs=EPOCHS, options=options)

    def ask(self, request):
        request.send(self.driver.stdin)
        if not select.select([self.driver.stdout], [], [], ENOUGH)[0]:
            raise TimeoutError(f"{request.name}: the driver has not answered in {ENOUGH:g} s")
        return json.loads(self.driver.stdout.readline())

    def left(self):
        """Returns the commands of processes that a fit left behind on the right host."""
        try:
            until(lambda: not self.running(), 60.0)
        except AssertionError:
            return self.running()
        return []

    def running(self):
        found = self.made.right.processes()
        return [command for pid, command in found.items() if is_spawned(pid)]


@contextmanager
def hosts(only=tuple(LINK_FAULTS)):
    """Yields Hosts with these faults; on exit, all their processes have ended."""
    with (
        tempfile.TemporaryDirectory() as folder,
        two_hosts() as pair,
        cluster(*pair, Path(folder)) as made,
    ):
        master, config = made.options
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        arguments = master, json.dumps(config | SETTINGS)
        with made.start("tests.spark.over_hosts", *arguments, **pipes) as driver:
            yield Hosts(made, driver, only)
            driver.stdin.close()
