"""Requirements of tests: a test skips if the machine lacks one, unless it was promised."""

import os

import pytest

from tests.cluster.jars import Unavailable


def or_skip(name, make):
    """Returns make(), or skips; names listed in SPARKDL_REQUIRE, with commas, fail instead."""
    try:
        return make()
    except Unavailable as error:
        if name in os.environ.get("SPARKDL_REQUIRE", "").split(","):
            raise
        pytest.skip(f"no {name}: {error}")
