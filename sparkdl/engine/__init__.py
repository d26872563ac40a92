"""Arrays in, arrays out: graph -> program -> kernels. No Spark, no sockets, no files."""

from sparkdl.engine import ops
from sparkdl.engine.autodiff import gradients
from sparkdl.engine.compiler import compile, value_and_grad
from sparkdl.engine.graph import Graph, Node, Spec, Tensor, constant, scope
from sparkdl.engine.program import Program

__all__ = [
    "Graph",
    "Node",
    "Program",
    "Spec",
    "Tensor",
    "compile",
    "constant",
    "gradients",
    "ops",
    "scope",
    "value_and_grad",
]
