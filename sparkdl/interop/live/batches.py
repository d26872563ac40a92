"""Batches passed through a model of another framework."""

import hashlib
from dataclasses import replace

import numpy as np

from sparkdl.interop.live.live_model import INPUT


def with_features(batch, y):
    """Returns a batch with the model's output in place of the features."""
    return replace(batch, columns={**batch.columns, INPUT: np.ascontiguousarray(y)})


def seed_of(seed, epoch, ids):
    """Returns the seed of a model's random numbers for a batch, from fit, epoch and records."""
    key = np.array([seed, epoch], np.uint64).tobytes() + np.asarray(ids, np.uint64).tobytes()
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little") >> 1
