"""Functions that Spark would write to disk are detected before it does."""

import os
import re
from contextlib import contextmanager
from functools import partial

import pytest

from sparkdl.errors import ConfigError
from sparkdl.spark.jobs import command_size
from sparkdl.spark.jobs.command_size import OPTION, check_command


@contextmanager
def threshold(sc, size):
    """Makes Spark write functions of more than `size` bytes to disk."""
    conf = sc._jsc.sc().conf()
    conf.set(OPTION, str(size))
    try:
        yield
    finally:
        conf.remove(OPTION)


def hold(secret, items):
    return items


def rdd_of(sc, barrier=False):
    items = sc.parallelize([1], 1).flatMap(lambda item: [item])
    return (items.barrier() if barrier else items).mapPartitions(partial(hold, b"secret" * 1000))


def files(sc):
    return {name for _, _, names in os.walk(sc._temp_dir) for name in names}


@pytest.mark.parametrize("barrier", [False, True])
def test_it_tells_what_spark_does(sc, barrier):
    with threshold(sc, 1), pytest.raises(ConfigError, match=f"^{OPTION} must be .* 1: ") as error:
        check_command(sc, rdd_of(sc, barrier))
    size, before = int(re.search("at least (\\d+) bytes", str(error.value))[1]), files(sc)
    with threshold(sc, size):
        rdd = rdd_of(sc, barrier)
        check_command(sc, rdd)
        assert rdd._jrdd and files(sc) == before
    with threshold(sc, size - 1):
        with pytest.raises(ConfigError):
            check_command(sc, rdd_of(sc, barrier))
        rdd = rdd_of(sc, barrier)
        assert rdd._jrdd and len(files(sc) - before) == 1


def test_what_spark_encrypts_may_go_to_disks(sc, monkeypatch):
    monkeypatch.setattr(command_size, "encrypts", lambda sc: True)
    with threshold(sc, 1):
        check_command(sc, rdd_of(sc))
