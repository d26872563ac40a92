"""Choice of the format that describes a training."""

import os

from sparkdl.interop.caffe.solvers.caffe_solver import CaffeSolver
from sparkdl.interop.caffe.solvers.job import SolverJob

DESCRIPTIONS = str | os.PathLike | SolverJob


def recipe_of(description, master=None, *, snapshot=None, weights=None):
    """Returns the Recipe of a path of a solver file, or of a SolverJob.

    Options are those of CaffeSolver.
    """
    return CaffeSolver(description, master, snapshot=snapshot, weights=weights)
