"""Solvers, which find the least value of a function of a vector with exact gradients."""

from sparkdl.nn import solvers as _solvers
from sparkdl.nn.solvers import *  # noqa: F403

vars().update(__all__=_solvers.__all__)  # for help(); type checkers follow the star alone
