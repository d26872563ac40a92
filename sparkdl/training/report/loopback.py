"""Default address of a fit's servers, and the error if they cannot listen there."""

from sparkdl.errors import UnsupportedError

HOST = "127.0.0.1"


def port_error(owner: str, host: str, port: int, error: Exception) -> UnsupportedError:
    """Returns the error of a server that cannot listen on a port.

    Parameters
    ----------
    owner : str
        Class with the option `port`.
    error : Exception
        The system's.
    """
    reason = getattr(error, "strerror", None) or error
    return UnsupportedError(
        f"{owner}.port must be one that is free on {host}, got {port}: {reason}; 0 takes any"
    )
