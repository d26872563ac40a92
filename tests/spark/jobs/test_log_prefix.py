"""Log lines of workers carry rank and host, and the logger is restored."""

import logging
import platform

import pytest

from sparkdl.spark.jobs.log_prefix import SPARKDL, sign_logs

log = logging.getLogger("sparkdl.spark.workers")
HOST = platform.node()


def test_a_line_says_whose_it_is(capsys):
    with sign_logs(3, 8):
        log.info("a round of %d examples", 64)
    line = capsys.readouterr().err
    assert line.endswith(f" INFO rank 3 of 8 on {HOST}: a round of 64 examples\n")


def test_a_level_that_somebody_chose_holds(capsys):
    SPARKDL.setLevel(logging.ERROR)
    try:
        with sign_logs(0, 1):
            log.warning("not to be seen")
        assert SPARKDL.level == logging.ERROR
    finally:
        SPARKDL.setLevel(logging.NOTSET)
    assert capsys.readouterr().err == ""


def test_nothing_stays(capsys):
    before = SPARKDL.handlers[:], SPARKDL.level
    with pytest.raises(ZeroDivisionError), sign_logs(0, 1):
        raise ZeroDivisionError
    assert (SPARKDL.handlers, SPARKDL.level) == before
