"""Fixtures of the tests of torch modules: those of the training tests."""

from tests.training.conftest import crews, rng, spawned

__all__ = ["crews", "rng", "spawned"]
