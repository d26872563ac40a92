"""What takes the place of the modules `threading` and `time`, of queues and of futures."""

import concurrent.futures
import queue
import threading
import time

from tests.chaos.simulation.world import Waitable

GIVES_WAY = 0.05  # chance that who takes a lock lets another go first


def modules(world):
    """Returns (threading, time) of a world, as modules have them, and {thing: ours} for names."""

    class Lock(Waitable):
        def __init__(self):
            super().__init__()
            self.is_held = False

        def acquire(self, blocking=True, timeout=-1):
            world.check()
            if blocking and world.random.random() < GIVES_WAY:
                world.give_way()
            until = None if timeout < 0 else world.now + timeout
            while self.is_held:
                if not blocking or (until is not None and world.now >= until):
                    return False
                world.wait([self], until)
            self.is_held = True
            return True

        def release(self):
            self.is_held = False
            if self.waiting:
                world.changed(self)

        def locked(self):
            return self.is_held

        def __enter__(self):
            return self.acquire()

        def __exit__(self, *_):
            self.release()

    class Condition(Waitable):
        """Its lock may be taken again by the task that holds it, as the module's own."""

        def __init__(self):
            super().__init__()
            self.lock, self.owner, self.depth = Lock(), None, 0

        def __enter__(self):
            if self.owner is not world.current:
                self.lock.acquire()
                self.owner = world.current
            self.depth += 1

        def __exit__(self, *_):
            self.depth -= 1
            if not self.depth:
                self.owner = None
                self.lock.release()

        def wait(self, timeout=None):
            until = None if timeout is None else world.now + timeout
            depth, self.owner, self.depth = self.depth, None, 0
            self.lock.release()
            try:
                world.wait([self], until)
            finally:
                if not world.is_over:
                    self.lock.acquire()
                    self.owner, self.depth = world.current, depth

        def wait_for(self, holds, timeout=None):
            until = None if timeout is None else world.now + timeout
            while not (result := holds()):
                if until is not None and world.now >= until:
                    break
                self.wait(None if until is None else until - world.now)
            return result

        def notify_all(self):
            world.changed(self)

        notify = notify_all  # all look again, which is allowed

    class Event(Waitable):
        def __init__(self):
            super().__init__()
            self._set = False

        def set(self):
            self._set = True
            world.changed(self)

        def is_set(self):
            return self._set

        def wait(self, timeout=None):
            until = None if timeout is None else world.now + timeout
            while not self._set and (until is None or world.now < until):
                world.wait([self], until)
            return self._set

    class Queue(Waitable):
        def __init__(self, size=0):
            super().__init__()
            self.size, self.items = size, []

        def put(self, item):
            world.check()
            while 0 < self.size <= len(self.items):
                world.wait([self])
            self.items.append(item)
            world.changed(self)

        def put_nowait(self, item):
            if 0 < self.size <= len(self.items):
                raise queue.Full
            self.put(item)

        def get(self):
            world.check()
            while not self.items:
                world.wait([self])
            world.changed(self)
            return self.items.pop(0)

    class Future(Waitable):
        """Its outcome is (result, error), once there is one."""

        def __init__(self):
            super().__init__()
            self.outcome = None

        def set_result(self, result):
            self._set(result, None)

        def set_exception(self, error):
            self._set(None, error)

        def done(self):
            return self.outcome is not None

        def result(self):
            while not self.outcome:
                world.wait([self])
            result, error = self.outcome
            if error is not None:
                raise error
            return result

        def _set(self, *outcome):
            self.outcome = outcome
            world.changed(self)

    def wait(futures, return_when):
        """Waits for all, or for the first error: the one way that the exchange asks for."""
        assert return_when == concurrent.futures.FIRST_EXCEPTION
        while True:
            outcomes = [one.outcome for one in futures]
            if all(outcomes) or any(one and one[1] for one in outcomes):
                return
            world.wait([one for one in futures if not one.outcome])

    class Thread:
        def __init__(self, target, args=(), name="thread", daemon=None):
            self.name, self._target, self._args, self._task = name, target, args, None

        def start(self):
            world.check()
            process = world.current.process
            self._task = world.start(process, lambda: self._target(*self._args), self.name)
            self._task.public = self

        def is_alive(self):
            return self._task is not None and not self._task.ended

        def join(self, timeout=None):
            until = None if timeout is None else world.now + timeout
            while not self._task.ended and (until is None or world.now < until):
                world.wait([self._task], until)

    class Threading:
        @staticmethod
        def current_thread():
            return getattr(world.current, "public", world.current)

    class Time:
        @staticmethod
        def monotonic():
            return world.now

        perf_counter = monotonic

        @staticmethod
        def sleep(seconds):
            world.wait([], world.now + seconds)

        time = staticmethod(time.time)

    for cls in (Lock, Condition, Event, Thread):
        setattr(Threading, cls.__name__, cls)
    Threading.local = threading.local
    names = {queue.Queue: Queue, queue.SimpleQueue: Queue, concurrent.futures.Future: Future}
    names |= {concurrent.futures.wait: wait, threading.Condition: Condition}
    return Threading, Time, names | {threading.Thread: Thread, threading.Lock: Lock}
