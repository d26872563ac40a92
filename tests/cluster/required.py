"""Requirements of a test: it skips where the machine lacks one, unless that was promised."""

import os

import pytest

from tests.cluster.jars import Unavailable


def or_skip(name, make):
    """What `make` gives. The names in SPARKDL_REQUIRE, with commas, fail rather than skip."""
    try:
        return make()
    except Unavailable as error:
        if name in os.environ.get("SPARKDL_REQUIRE", "").split(","):
            raise
        pytest.skip(f"no {name}: {error}")
