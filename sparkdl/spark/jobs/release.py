"""The release of Spark that Python has."""

import pyspark


def release_of(version: str) -> tuple[int, ...]:
    """Returns the first two numbers of a version of Spark."""
    return tuple(map(int, version.split(".")[:2]))


PYSPARK = release_of(pyspark.__version__)
