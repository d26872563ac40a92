"""Choice of the format that describes a training job."""

import os


def is_description(value):
    """Returns whether `recipe_of` accepts the value: a path or a SolverJob."""
    return isinstance(value, str | os.PathLike) or getattr(value, "describes_training", False)


def recipe_of(description, master=None, *, snapshot=None, weights=None):
    """Returns the Recipe of a solver file's path, or of a SolverJob.

    Options are those of CaffeSolver.
    """
    # Imported lazily: it takes longer to load than everything that other fits need.
    from sparkdl.interop.caffe.solvers.caffe_solver import CaffeSolver

    return CaffeSolver(description, master, snapshot=snapshot, weights=weights)
