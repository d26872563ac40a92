"""Initializers, which give parameters their starting values."""

from sparkdl.nn import initializers as _initializers
from sparkdl.nn.initializers import *  # noqa: F403

vars().update(__all__=_initializers.__all__)  # for help(); type checkers follow only the star
