"""Solvers, which minimize a function of a vector from exact gradients."""

from sparkdl.nn import solvers as _solvers
from sparkdl.nn.solvers import *  # noqa: F403

vars().update(__all__=_solvers.__all__)  # for help(); type checkers follow only the star
