"""All that a solver file asks for: the solver, its nets, and where they are."""

from dataclasses import dataclass

from sparkdl.interop.caffe.beside import found
from sparkdl.interop.caffe.net import CaffeNet, load_net
from sparkdl.interop.caffe.solver import Solver, read_solver


@dataclass(frozen=True, kw_only=True)
class Job:
    """A solver with its nets.

    Parameters
    ----------
    solver : Solver
    train : CaffeNet
        With the solver's updater, decay, clipping and seed.
    tests : tuple of CaffeNet
    """

    solver: Solver
    train: CaffeNet
    tests: tuple[CaffeNet, ...]


def read_job(path, shapes=None):
    """The Job of a solver file, local or a URI.

    Parameters
    ----------
    path : str
        Nets that it names are looked for where it says, and beside it.
    shapes : {blob: shape of one example}, optional
        See `read_net`.

    Raises
    ------
    ConfigError, ShapeError, UnsupportedError, DataError
        As `read_solver` and `read_net`.
    """
    solver = read_solver(path)

    def load(net):
        given = net.message if net.path is None else found(net.path, path)
        return load_net(given, net.state, shapes, **solver.training)

    return Job(solver=solver, train=load(solver.train), tests=tuple(map(load, solver.tests)))
