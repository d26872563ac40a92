"""Fixtures of the tests of live models: those of the training tests."""

from tests.training.conftest import crews, rng

__all__ = ["crews", "rng"]
