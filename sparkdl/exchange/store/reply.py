"""Errors as they travel: a name of a known kind, and what they say."""

from sparkdl.errors import ConfigError, DataError, PeerError, UnsupportedError, WorkerError

KINDS = {kind.__name__: kind for kind in (ConfigError, DataError, UnsupportedError, WorkerError)}


def told(error):
    """The JSON object for an error."""
    if isinstance(error, PeerError):
        return {"error": "PeerError", "about": [error.rank, error.host, error.what]}
    name = type(error).__name__
    return {"error": name if name in KINDS else "WorkerError", "about": [str(error)]}


def checked(meta):
    """The object, unless it is an error: that is raised."""
    if "error" in meta:
        kind = PeerError if meta["error"] == "PeerError" else KINDS[meta["error"]]
        raise kind(*meta["about"])
    return meta
