"""Silence is counted only since the last pause of this process itself."""

import pytest

from sparkdl.exchange.liveness.pause import PauseDetector

LOOKS = [  # with a timeout of 10 s: (time, whether there was no pause, since when silence counts)
    [(1.0, True, 0.0), (6.0, True, 0.0), (11.0, True, 0.0)],
    [(5.1, False, 5.1), (6.0, True, 5.1)],
    [(4.0, True, 0.0), (30.0, False, 30.0), (34.0, True, 30.0), (50.0, False, 50.0)],
]


@pytest.mark.parametrize("looks", LOOKS)
def test_looks(looks):
    detector = PauseDetector(10.0, 0.0)
    for now, unbroken, since in looks:
        assert (detector.unbroken(now), detector.since) == (unbroken, since)


def test_it_begins_anew():
    detector = PauseDetector(10.0, 0.0)
    detector.begin(60.0)
    assert detector.since == 60.0
    assert detector.unbroken(65.0)
