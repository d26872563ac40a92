"""Fixtures of the training tests, for the tests of torch modules."""

from tests.training.conftest import crews, rng, spawned

__all__ = ["crews", "rng", "spawned"]
