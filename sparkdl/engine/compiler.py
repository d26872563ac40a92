"""Compilation of graphs."""

from sparkdl.engine import backends


def compile(
    graph, backend="reference", bindings=None, strict=False, tf32=False, constant_bindings=False
):
    """Compiles `graph` into a Program.

    Program and Backend.program explain the arguments.
    """
    return backends.get(backend).program(graph, bindings, strict, tf32, constant_bindings)
