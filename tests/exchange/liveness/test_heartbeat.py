"""Everything registered keeps beating until it is discarded, garbage collected or broken."""

import gc
import threading
import weakref

from sparkdl.exchange.liveness.heartbeat import Heartbeat
from tests.support.waiting import LIMIT, until


class Heart:
    def __init__(self, beats):
        self.left, self.stopped = beats, threading.Event()

    def beat(self):
        self.left -= 1
        if self.left == 0:
            self.stopped.set()
            raise ValueError("worn out")


def ended(pulse):
    thread = pulse._thread
    if thread:
        thread.join(LIMIT)
    return pulse._thread is None


def test_what_is_registered_beats_and_a_broken_one_harms_no_other(caplog):
    pulse, short, long = Heartbeat(), Heart(2), Heart(10)
    pulse.add(short, 0.01)
    pulse.add(long, 0.02)
    assert long.stopped.wait(LIMIT) and short.stopped.is_set()
    assert ended(pulse)
    assert caplog.text.count("no more heartbeats") == 2


def test_no_thread_stays_for_what_is_discarded():
    pulse, heart = Heartbeat(), Heart(1)
    pulse.add(heart, 100)
    pulse.discard(heart)
    pulse.discard(heart)
    assert ended(pulse)
    pulse.add(heart, 0.01)  # registered again
    assert heart.stopped.wait(LIMIT)
    assert ended(pulse)


def test_what_has_had_its_beat_is_not_held_alive_beside_others():
    pulse, short, other = Heartbeat(), Heart(-1), Heart(-1)
    pulse.add(other, 100)
    pulse.add(short, 0.2)
    while short.left == -1:
        threading.Event().wait(0.01)
    short = weakref.ref(short)
    until(
        lambda: short() is None, 30
    )  # once the turn has ended; else it has one beat after another
    pulse.discard(other)
    assert ended(pulse)


def test_what_is_forgotten_is_not_held_alive():
    pulse, heart = Heartbeat(), Heart(-1)
    pulse.add(heart, 0.01)
    del heart
    gc.collect()
    assert ended(pulse)
