"""Optimizers, which turn a gradient into an update."""

from sparkdl.nn import optimizers as _optimizers
from sparkdl.nn.optimizers import *  # noqa: F403

vars().update(__all__=_optimizers.__all__)  # for help(); type checkers follow only the star
