"""Initializers: the values that parameters start from."""

from sparkdl.nn import initializers as _initializers
from sparkdl.nn.initializers import *  # noqa: F403

vars().update(__all__=_initializers.__all__)  # for help(); type checkers follow the star alone
