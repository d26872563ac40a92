"""Solvers, which minimize a function of a vector with exact gradients."""

from sparkdl.nn.solvers.base import Solution, Solver
from sparkdl.nn.solvers.conjugate_gradient import ConjugateGradient
from sparkdl.nn.solvers.lbfgs import Lbfgs
from sparkdl.nn.solvers.line_descent import LineDescent

__all__ = [
    "ConjugateGradient",
    "Lbfgs",
    "LineDescent",
    "Solution",
    "Solver",
]
