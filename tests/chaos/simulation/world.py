"""Virtual time, and threads of which one runs at a time, in an order that follows from a seed."""

import heapq
import random
import threading
from itertools import count

TICK = 1e-6  # seconds, the least that a wait takes
SPINS = 20_000  # what is asked of the world at one time, above which somebody does not wait


class Ended(BaseException):
    """The world has ended: what still waits in it is unwound."""


class Waitable:
    """Something that tasks wait for a change of."""

    def __init__(self):
        self.waiting = {}  # task: number of its wait


class Process:
    """Where tasks run. One that is stopped goes on at `stopped_until`, one that is killed never.

    `slowness` is the longest time, in seconds, that a task of it takes to go on.
    """

    def __init__(self, name, slowness=0.0):
        self.name, self.slowness = name, slowness
        self.stopped_until, self.killed = 0.0, False
        self.sockets = []


class Task(Waitable):
    """A thread of a process."""

    def __init__(self, process, function, name):
        super().__init__()
        self.process, self.name, self.ended, self.error = process, name, False, None
        self.wait_number, self.is_waiting = 0, False
        self.baton = threading.Lock()
        self.baton.acquire()
        self._function = function
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def begin(self, world):
        self.world = world
        self.thread.start()
        world.make_ready(self)

    def _run(self):
        self.baton.acquire()
        try:
            if not self.world.is_over:
                self._function()
        except Ended:
            pass
        except BaseException as error:  # the world tells it
            self.error = error
        self.ended = True
        self.world.leave(self)


class World:
    """A seed's world.

    Parameters
    ----------
    seed : int
    limit : float
        Virtual seconds after which it ends, whatever is under way.
    """

    def __init__(self, seed, limit):
        self.random, self.limit = random.Random(seed), limit
        self.now, self.current, self.is_over, self.end = 0.0, None, False, None
        self.switches = 0
        self._due, self._numbers, self._ready, self.tasks = [], count(), [], []
        self._awaited, self._asked, self._asked_at = set(), 0, 0.0
        self._over = threading.Lock()
        self._over.acquire()

    # What the world is asked from outside

    def start(self, process, function, name="main", awaited=False):
        """Returns a Task; `run` goes on until those that are awaited have ended."""
        task = Task(process, function, name)
        self.tasks.append(task)
        if awaited:
            self._awaited.add(task)
        task.begin(self)
        return task

    def run(self):
        """Runs to the end: returns "done", "deadlock" or "limit"."""
        self._hand_over(self._next())
        self._over.acquire()
        self.is_over = True
        for task in self.tasks:  # grows while they end, if they start others
            if not task.ended:
                self.current = task
                task.baton.release()
                task.thread.join(10)
                assert not task.thread.is_alive(), f"{task.name} does not end"
        return self.end

    def at(self, time, act):
        """Has act() called at a time."""
        heapq.heappush(self._due, (time, next(self._numbers), act))

    def kill(self, process):
        """Has none of its tasks go on."""
        process.killed = True
        self._awaited = {task for task in self._awaited if task.process is not process}

    # What tasks ask

    def wait(self, things, until=None):
        """Waits for a change of a thing, or for a time; None: for ever."""
        self.check()
        task = self.current
        task.wait_number, task.is_waiting = task.wait_number + 1, True
        number = task.wait_number
        for thing in things:
            thing.waiting[task] = number
        if until is not None:
            self.at(max(until, self.now + TICK), lambda: self._wake(task, number))
        self._switch(task)

    def give_way(self):
        """Lets others go first, if there are any."""
        self.check()
        self.make_ready(self.current)
        self._switch(self.current)

    def changed(self, thing):
        """Has all who wait for it look again."""
        if thing.waiting:
            waiting, thing.waiting = thing.waiting, {}
            for task, number in waiting.items():
                self._wake(task, number)

    def check(self):
        """Raises Ended in what is left when all is over, and AssertionError in what spins."""
        if self.is_over:
            raise Ended
        self._asked = self._asked + 1 if self.now == self._asked_at else 0
        self._asked_at = self.now
        assert self._asked < SPINS, f"{self.current.name} spins"

    def leave(self, task):
        """Notes that a task has ended, and lets others go on."""
        self._awaited.discard(task)
        if not self.is_over:
            self.changed(task)
            self._hand_over(self._next())

    # Whose turn it is

    def _wake(self, task, number):
        if not task.is_waiting or task.wait_number != number or task.process.killed:
            return
        task.is_waiting = False
        slowness = task.process.slowness
        delay = self.random.random() * slowness if slowness else 0.0
        if delay:
            self.at(self.now + delay, lambda: self.make_ready(task))
        else:
            self.make_ready(task)

    def make_ready(self, task):
        self._ready.append(task)

    def _next(self):
        """Returns the task that goes on now; None where it is all over."""
        while self._awaited:
            while self._ready:
                task = self._take_ready()
                if task.process.killed:
                    continue
                if task.process.stopped_until > self.now:
                    until = task.process.stopped_until
                    self.at(until, lambda task=task: self.make_ready(task))
                    continue
                return task
            if not self._due:
                self.end = "deadlock"
                return None
            time, _, act = heapq.heappop(self._due)
            self.now = max(self.now, time)
            if self.now > self.limit:
                self.end = "limit"
                return None
            act()
        self.end = "done"
        return None

    def _take_ready(self):
        ready = self._ready
        chosen = self.random.randrange(len(ready)) if len(ready) > 1 else 0
        ready[chosen], ready[-1] = ready[-1], ready[chosen]
        return ready.pop()

    def _hand_over(self, task):
        self.current = task
        self.switches += 1
        (self._over if task is None else task.baton).release()

    def _switch(self, task):
        following = self._next()
        if following is not task:
            self._hand_over(following)
            task.baton.acquire()
        self.check()
