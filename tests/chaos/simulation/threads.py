"""What takes the place of the modules `threading` and `time`."""

import threading
import time

from tests.chaos.simulation.world import Waitable

GIVES_WAY = 0.05  # chance that who takes a lock lets another go first


def modules(world):
    """Returns (threading, time) of a world, as modules have them."""

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
        def __init__(self):
            super().__init__()
            self.lock = Lock()

        def __enter__(self):
            return self.lock.acquire()

        def __exit__(self, *_):
            self.lock.release()

        def wait(self, timeout=None):
            until = None if timeout is None else world.now + timeout
            self.lock.release()
            try:
                world.wait([self], until)
            finally:
                if not world.is_over:
                    self.lock.acquire()

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
    return Threading, Time
