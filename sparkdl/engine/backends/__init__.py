"""Where kernels come from. A backend has `name`, `rewrites`, `empty(bytes)` and `lower(node, ins, outs)`."""

from sparkdl.engine.backends.base import Kernel, get, names

__all__ = ["Kernel", "get", "names"]
