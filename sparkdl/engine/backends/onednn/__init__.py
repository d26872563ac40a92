"""oneDNN on the CPU; sparkdl.engine.backends.onednn.backend has the whole."""

from sparkdl.engine.backends.onednn.backend import OneDnn

__all__ = ["OneDnn"]
