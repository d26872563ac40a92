"""Log lines of workers carry rank and host, and the logger is restored."""

import logging
import platform
from types import SimpleNamespace
from unittest import mock

import pytest
from pyspark import TaskContext

from sparkdl.spark.jobs.job import DESCRIPTION, describe_jobs
from sparkdl.spark.jobs.log_prefix import ON_DRIVER, SPARKDL, sign_logs

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


def test_tasks_of_the_driver_leave_its_terminal_to_the_progress_bar(capsys, monkeypatch):
    driver = SimpleNamespace(getLocalProperty={ON_DRIVER: "true"}.get)
    monkeypatch.setattr(TaskContext, "get", lambda: driver)
    with sign_logs(0, 1):
        log.info("begins to train")
        log.warning("to be seen")
    assert capsys.readouterr().err.endswith(f" WARNING rank 0 of 1 on {HOST}: to be seen\n")


@pytest.mark.parametrize("is_local, said", [(True, "true"), (False, None)])
def test_jobs_tell_their_tasks_whether_the_driver_runs_them(is_local, said):
    sc, properties = mock.MagicMock(), {}
    sc.getLocalProperty, sc.setLocalProperty = properties.get, properties.__setitem__
    sc._jsc.sc().isLocal.return_value = is_local
    with describe_jobs(sc, "a round"):
        assert properties == {DESCRIPTION: "sparkdl: a round", ON_DRIVER: said}
    assert set(properties.values()) == {None}


def test_nothing_stays(capsys):
    before = SPARKDL.handlers[:], SPARKDL.level
    with pytest.raises(ZeroDivisionError), sign_logs(0, 1):
        raise ZeroDivisionError
    assert (SPARKDL.handlers, SPARKDL.level) == before
