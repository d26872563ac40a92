"""The fits that are compared: what is made of them, and workers on two hosts. None trains here."""

import json
import os
import sys

import pytest

from sparkdl.training.masters import MASTERS
from tests.benchmarks.cpu.processes import Failed
from tests.benchmarks.exchange import coding, convergence, overlap
from tests.benchmarks.exchange.digits import Fit, scaled
from tests.benchmarks.exchange.link import HostWorkers, on_the_left
from tests.support.namespaces import why_not

PLAIN = Fit(
    seconds=[2.0, 4.0, 6.0],
    accuracy=[0.9, 0.98, 0.975],
    sent=3e9,
    rounds=30,
    updates=300,
    examples=24000,
)
LESS = {"seconds": [1.0, 2.0], "sent": 1e8, "rounds": 30, "updates": 300, "examples": 16000}


def test_an_accuracy_is_reached_at_the_end_of_an_epoch():
    assert PLAIN.until(0.97) == 4.0
    assert PLAIN.until(0.99) is None
    assert PLAIN.speed == 4000


@pytest.mark.parametrize("accuracy, missed", [([0.9, 0.972], 0), ([0.9, 0.96], 1)])
def test_one_bit_may_lose_half_a_point(accuracy, missed):
    row = coding.row(coding.ONE_BIT, Fit(accuracy=accuracy, **LESS), PLAIN)
    assert row.bars[0].value == pytest.approx(30)
    assert sum(bar.missed for bar in row.bars) == missed
    assert row.ours == ("never" if missed else "2 s")


def test_other_codecs_have_no_bars():
    row = coding.row("TopK", Fit(accuracy=[0.1, 0.1], **LESS), PLAIN)
    assert not any(bar.missed for bar in row.bars)


def test_every_master_has_a_row():
    assert {name for name, _ in convergence.masters().values()} == set(MASTERS)
    for name, options in convergence.masters().values():
        MASTERS[name](workers=2, **options)


def test_pixels_are_from_0_to_1():
    batch = scaled("test")
    assert (batch.features.min(), batch.features.max()) == (0, 1)


def test_what_is_hidden_is_a_share_of_the_exchange():
    seconds = {"alone": [0.10], "behind": [0.14], "beside": [0.11]}
    waited = {way: [0.01] for way in seconds}
    row = overlap.row({"seconds": seconds, "waited": waited, "sent": 1e6})
    assert row.bars[0].value == pytest.approx(0.75)


def network():
    return os.readlink("/proc/self/ns/net")


class Job:
    """What a worker is sent."""

    def run(self, pipe):
        return network()


def main(address, right):
    """On the left host: the network of the driver, and of each worker."""
    workers = HostWorkers(address, int(right))
    try:
        workers._start()
        for process in workers._processes:
            process.send(Job())
        print(json.dumps([network(), *(process.receive() for process in workers._processes)]))
    finally:
        workers.close()


hosts = pytest.mark.skipif(why_not() is not None, reason=f"no hosts: {why_not()}")


@hosts
def test_workers_are_on_two_hosts():
    [[driver, left, right]] = on_the_left(__name__)
    assert driver == left != right
    assert network() not in (left, right)


@hosts
def test_what_fails_on_a_host_says_why():
    with pytest.raises(Failed, match="No module named nothing"):
        list(on_the_left("nothing"))


if __name__ == "__main__":
    main(*sys.argv[1:])
