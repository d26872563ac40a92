"""All that a solver file describes: the solver, its nets, and their paths."""

from dataclasses import dataclass, replace
from typing import ClassVar

from sparkdl.config import suggestion
from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.graphs.net import CaffeNet, load_net
from sparkdl.interop.caffe.messages.file_paths import locate_file
from sparkdl.interop.caffe.messages.origin import Origin
from sparkdl.interop.caffe.solvers.solver import CaffeSolverConf, in_test, read_solver


@dataclass(frozen=True, kw_only=True)
class SolverJob:
    """A solver and its nets.

    Parameters
    ----------
    solver : CaffeSolverConf
    train : CaffeNet
        With the solver's optimizer, decay, clipping and seed.
    tests : tuple of CaffeNet
    path : str
        Path of the solver file.
    """

    solver: CaffeSolverConf
    train: CaffeNet
    tests: tuple[CaffeNet, ...]
    path: str
    describes_training: ClassVar[bool] = True  # see interop.recipes


def read_job(path, shapes=None):
    """Reads the SolverJob of a solver file, local or a URI.

    Parameters
    ----------
    path : str
        Nets that it names are looked for as given, and in its folder.
    shapes : {blob: shape of one example}, optional
        See `read_net`.

    Raises
    ------
    ConfigError, ShapeError, UnsupportedError, DataError
        As `read_solver` and `read_net`.
    """
    solver = read_solver(path)
    train, *tests = load_nets(solver, [solver.train, *solver.tests], path, shapes)
    return SolverJob(solver=solver, train=train, tests=tuple(tests), path=str(path))


def read_tests(path, shapes=None):
    """Reads (CaffeSolverConf, its test nets) from a solver file, to use a trained model.

    If the solver has no tests, the training net in phase TEST is used. See `read_job`.
    """
    solver = read_solver(path)
    train = replace(solver.train, state=in_test(solver.train.state))
    return solver, tuple(load_nets(solver, solver.tests or [train], path, shapes))


def load_nets(solver, nets, path, shapes):
    """Loads the CaffeNets of a solver's Nets."""
    loaded = []
    for net in nets:
        if net.path is None:
            given, source = net.message, Origin(str(path), net.text)
        else:
            given, source = locate_file(net.path, path), None
        loaded.append(load_net(given, net.state, shapes, source, **solver.training))
    check_shapes(shapes, loaded)
    return loaded


def check_shapes(shapes, nets):
    """Raises ConfigError if a blob with a given shape is not read from data by any of the nets."""
    known = sorted({blob for net in nets for data in net.data for blob in data.shapes})
    for blob in shapes or ():
        if blob not in known:
            raise ConfigError(
                f"shapes must be of blobs of data ({', '.join(known)}), got {blob!r}"
                f"{suggestion(blob, known, '')}"
            )
