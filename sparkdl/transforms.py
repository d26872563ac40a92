"""Transforms of minibatches, between storage and the network."""

from sparkdl.data import transforms as _transforms
from sparkdl.data.transforms import *  # noqa: F403

vars().update(__all__=_transforms.__all__)  # for help(); type checkers follow only the star
