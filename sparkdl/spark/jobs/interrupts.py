"""Ctrl-C while Spark jobs run: one KeyboardInterrupt, and no job of ours is left.

pyspark's handler calls the JVM in the middle of whatever call the same thread is waiting for. Ours
lets that call finish first; another thread cancels the job, so that it does.
"""

import signal
import threading
import time
import uuid
from _thread import interrupt_main
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError

from sparkdl.spark.jobs.job_tags import add_tag, cancel_tag, remove_tag

POLL = 0.02  # seconds
FINALIZERS = ("weakref", "_weakrefset")  # modules


@contextmanager
def clean_interrupts(sc):
    """Raises KeyboardInterrupt for a Ctrl-C within, and cancels the jobs of `interruptible`.

    Changes nothing in threads other than the main one, or if the user has installed a handler.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not is_known(before):
        yield
        return
    interrupt = Interrupt(sc)
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        interrupt.close()
        signal.signal(signal.SIGINT, before)
    if interrupt.asked and not interrupt.raised:
        interrupt.end()


def is_known(handler):
    """Returns whether a handler of SIGINT is Python's or pyspark's."""
    home = getattr(handler, "__module__", "") or ""
    ours = isinstance(handler, Interrupt)
    return ours or handler is signal.default_int_handler or home.startswith("pyspark")


class Interrupt:
    """A handler of SIGINT; `asked` once there was one, `raised` once it has become an error.

    Its tag is given only to jobs that it may cancel, as it may still do so when the next have
    begun.
    """

    def __init__(self, sc):
        self._sc, self.asked, self.raised = sc, False, False
        self.tag = f"sparkdl-interruptible-{uuid.uuid4().hex}"
        self._is_repeated, self._is_closed, self._lock = False, False, threading.Lock()
        self.depth = 0  # nesting of `interruptible` in the main thread

    def __call__(self, number, frame):
        repeated, self._is_repeated = self._is_repeated, False
        if self._is_closed or (repeated and self.raised):
            self.asked = True
            return
        if not must_wait(frame):
            self.end()
        if not self.asked:
            self.asked = True
            threading.Thread(target=self._insist, daemon=True).start()

    def end(self):
        self.asked = self.raised = True
        raise KeyboardInterrupt from None

    def close(self):
        """Makes sure that no interrupt is raised, or repeated for another handler, any more."""
        self._is_closed = True
        with self._lock:  # waits for an interrupt that is just being repeated
            pass

    def _insist(self):
        """Cancels jobs until the main thread's call has ended; see `must_wait`."""
        goes_on = True
        while goes_on:
            with suppress(Py4JError, AttributeError):  # Spark itself has been stopped
                cancel_tag(self._sc, self.tag)
            goes_on = self._repeat()
            time.sleep(POLL)

    def _repeat(self):
        """Interrupts the main thread again unless it has reacted; returns whether it did."""
        with self._lock:
            if self.raised or self._is_closed or signal.getsignal(signal.SIGINT) is not self:
                return False
            self._is_repeated = True
            interrupt_main()
        return True


def must_wait(frame):
    """Returns whether a thread with this frame is in a call that an error must not leave.

    It waits for the JVM, or runs a finalizer, in which Python ignores errors.
    """
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("py4j.") or module in FINALIZERS or frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


@contextmanager
def interruptible(sc):
    """Makes a Ctrl-C cancel the main thread's jobs inside, within `clean_interrupts`."""
    interrupt = signal.getsignal(signal.SIGINT)
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or not isinstance(interrupt, Interrupt):
        yield
        return
    raise_if_asked(interrupt)  # begins no job that would be cancelled at once
    if not interrupt.depth:
        add_tag(sc, interrupt.tag)
    interrupt.depth += 1
    try:
        yield
    except Exception as error:
        raise_if_asked(interrupt)  # the job has been cancelled
        if hides_interrupt(error):
            raise KeyboardInterrupt from None
        raise
    finally:
        interrupt.depth -= 1
        if not interrupt.depth:  # jobs of an enclosing block keep the tag
            with suppress(Py4JError):
                remove_tag(sc, interrupt.tag)
    raise_if_asked(interrupt)


def hides_interrupt(error):
    """Returns whether an error was caused by a KeyboardInterrupt, which should be raised instead.

    pyspark has cleanup code that fails when its setup was interrupted.
    """
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False


def raise_if_asked(interrupt):
    """Raises KeyboardInterrupt if there was a Ctrl-C that has not been raised yet."""
    if interrupt.asked and not interrupt.raised:
        interrupt.end()
