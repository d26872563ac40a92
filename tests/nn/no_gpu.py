"""Stands in for the cuda backend where no GPU works, for MODULES."""

from sparkdl.errors import UnsupportedError


def __getattr__(name):
    raise UnsupportedError("there is a driver, but no device")
