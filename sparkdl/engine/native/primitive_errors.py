"""Errors for the status that oneDNN's functions return."""

from sparkdl.errors import UnsupportedError

OUT_OF_MEMORY = 1  # dnnl_status_t


def error_of(name, status):
    """Returns the error for a call of a function that failed.

    Without memory, numpy must not take over: it is slow, and it rounds in another way, so a worker
    would go on with other numbers than the rest.
    """
    if status == OUT_OF_MEMORY:
        return MemoryError(f"oneDNN has no memory for {name}")
    return UnsupportedError(f"oneDNN refuses {name} (status {status})")
