"""Choice of the format that describes a training."""

import os


def is_description(value):
    """Whether `recipe_of` takes it: a path, or a SolverJob."""
    return isinstance(value, str | os.PathLike) or getattr(value, "describes_training", False)


def recipe_of(description, master=None, *, snapshot=None, weights=None):
    """Returns the Recipe of a path of a solver file, or of a SolverJob.

    Options are those of CaffeSolver.
    """
    # Loaded where it is asked for: it takes longer to load than all that other fits need.
    from sparkdl.interop.caffe.solvers.caffe_solver import CaffeSolver

    return CaffeSolver(description, master, snapshot=snapshot, weights=weights)
