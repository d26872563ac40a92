"""Where kernels come from; base.py says what a backend is."""

from sparkdl.engine.backends.base import Kernel, get, names

__all__ = ["Kernel", "get", "names"]
