"""Executable graphs of cuDNN's, and the calls with which programs run them."""

import numpy as np

from sparkdl.engine.backends.cuda.cudnn.graph_builder import has_steps
from sparkdl.engine.graph import Spec
from sparkdl.engine.operands import check_all
from sparkdl.errors import UnsupportedError

WORKSPACE = 256 << 20  # bytes allowed per plan
ALIGNMENT = 16  # bytes; alignment of the arrays passed to a graph


class CudnnPlan:
    """An executable graph; running it neither allocates nor waits.

    Parameters
    ----------
    workspace : bytes needed while it runs
    """

    def __init__(self, drawing, adapter):
        self.graph, self.uids, self.adapter = drawing.graph, drawing.uids, adapter
        self.workspace = drawing.graph.get_workspace_size()
        self.numbers = {n: np.array(v, "f4") for n, v in drawing.request.numbers.items()}
        self.doubles = drawing.request.doubles

    def pack(self, places):
        """Returns the arguments of a run, {uid: address}, from {name of an array: address}."""
        pointers = {name: number.ctypes.data for name, number in self.numbers.items()}
        pointers |= {double: places[name] for double, name in self.doubles.items()}
        return {self.uids[name]: int(at) for name, at in (places | pointers).items()}

    def run(self, pack, workspace, stream):
        """Queues the graph on a stream; the pack, the workspace and the stream are addresses."""
        with self.adapter.lock:  # another thread may be timing plans on another stream
            self.adapter.follow(stream)
            self.graph.execute(pack, workspace, handle=self.adapter.handle)


def launch(session, request, **arrays):
    """Returns calls that queue a request's graph on the kernel stream.

    An array that is not aligned as graphs require, such as one within a parameter vector, is copied
    to an aligned place before, or from there afterwards.

    Parameters
    ----------
    arrays : DeviceArrays by their names in the request

    Raises
    ------
    UnsupportedError
        If cuDNN refuses, or an array has other strides than the graph.
    OperandError
        If an array is missing, or has another shape or type than in the request.
    """
    check_all(f"cuDNN's {request.label}", request.arrays, arrays)
    for name, array in arrays.items():
        if not has_steps(array, request.strides(name)):
            raise UnsupportedError(f"{name} {array.shape} has strides {array.strides}")
    plan = session.libraries.graphs.plan(request, session.tf32)
    allocate = session.device.driver.allocate
    moved = {n: a.elsewhere(allocate) for n, a in arrays.items() if a.address % ALIGNMENT}
    pack = plan.pack({name: array.address for name, array in (arrays | moved).items()})
    scratch = session.scratch(max(plan.workspace, 1))

    def work(stream):
        plan.run(pack, scratch.memory.address, stream)

    pairs = {n: (there.flat_bytes(), arrays[n].flat_bytes()) for n, there in moved.items()}
    before = [session.move(*pair) for n, pair in pairs.items() if n in request.read]
    behind = [session.move(*pair[::-1]) for n, pair in pairs.items() if n not in request.read]
    return [*before, session.enqueue(work), *behind]


def specs(**arrays):
    """Returns the Specs of arrays for a request, None for those that are None."""
    return {n: a if a is None else Spec(a.shape, a.dtype.name) for n, a in arrays.items()}
