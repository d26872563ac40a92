"""Arrays in, arrays out: graph -> program -> kernels. No Spark, no sockets, no files."""

from sparkdl.engine import ops
from sparkdl.engine.autodiff import gradients
from sparkdl.engine.compiler import compile
from sparkdl.engine.graph import Graph, Spec, Tensor, constant, scope
from sparkdl.engine.program import Program

__all__ = [
    "Graph",
    "Program",
    "Spec",
    "Tensor",
    "compile",
    "constant",
    "gradients",
    "ops",
    "scope",
]
