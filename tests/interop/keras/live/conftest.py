"""Fixtures of the training tests, for the tests of live models."""

from tests.training.conftest import crews, rng

__all__ = ["crews", "rng"]
