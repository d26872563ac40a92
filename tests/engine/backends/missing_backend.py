"""A backend whose library is looked for anew when it is imported, as oneDNN's is at first."""

from sparkdl.engine.backends.onednn.binding.library import load

load.__wrapped__()
