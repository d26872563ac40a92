"""Orders of the driver, which name rounds that all workers agree on."""

import threading

import pytest

from sparkdl.errors import WorkerError
from sparkdl.training.resident.orders import Orders


def orders(rounds=0):
    return Orders(rounds, lambda: None)


@pytest.mark.slow
def test_a_worker_that_is_asked_begins_no_round_until_one_is_named():
    own, ended = orders(), []
    assert not own.is_last(1)
    assert own.take({"kind": "halt"}) == {"kind": "halting", "begun": 2}
    thread = threading.Thread(target=lambda: ended.append(own.is_last(2)))
    thread.start()
    thread.join(0.1)
    assert thread.is_alive()
    own.take({"kind": "snapshot", "rounds": 3})
    thread.join(60)
    assert ended == [False]
    assert [own.wants_state(rounds) for rounds in (2, 3, 4)] == [False, True, False]
    assert not own.is_last(3) and own.take({"kind": "halt"})["begun"] == 4
    own.take({"kind": "last", "rounds": 4})
    assert own.is_last(4)


def test_the_round_that_is_named_may_be_the_one_that_ends():
    own = orders(5)
    assert own.take({"kind": "halt"})["begun"] == 6
    own.take({"kind": "snapshot", "rounds": 6})
    assert not own.is_last(6) and own.wants_state(6)


def test_who_waits_hears_that_the_driver_is_gone():
    def check():
        raise WorkerError("the driver is gone")

    own = Orders(0, check)
    own.take({"kind": "halt"})
    with pytest.raises(WorkerError, match="gone"):
        own.is_last(1)
    with pytest.raises(WorkerError, match="must not send"):
        own.take({"kind": "other"})
