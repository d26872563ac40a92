"""An operation that is a graph of cuDNN's from the start, inserted by a rewrite."""

from dataclasses import dataclass

from sparkdl.engine.backends.cuda.cudnn.graph_builder import Request
from sparkdl.engine.backends.cuda.cudnn.plans import launch
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import Op


@dataclass(frozen=True)
class CudnnGraphOp(Op):
    """The results of a request.

    Parameters
    ----------
    request : Request
    names : names of its arrays, those that are read first
    results : Specs of the arrays that are written, in the program's shapes
    work : int
        See Op.flops.
    """

    request: Request
    names: tuple[str, ...]
    results: tuple[Spec, ...]
    work: int = 0

    @property
    def label(self):
        return type(self.request).__name__

    def shape(self, *specs):
        return self.results

    def flops(self, *specs):
        return self.work


def lower_graph(session, op, inputs, outputs):
    """Lowers a CudnnGraphOp."""
    arrays = dict(zip(op.names, (*inputs, *outputs), strict=True))
    views = {n: op.request.to_graph_shape(n, array) for n, array in arrays.items()}
    return launch(session, op.request, **views), f"cuDNN {op.request.label}"
