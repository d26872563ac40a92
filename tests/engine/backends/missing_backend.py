"""A backend that searches for its library again on import, as oneDNN's first import does."""

from sparkdl.engine.backends.onednn.binding.library import load

load.__wrapped__()
