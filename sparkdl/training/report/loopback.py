"""Where the servers of a fit listen unless told otherwise, and the error where they cannot."""

from sparkdl.errors import UnsupportedError

HOST = "127.0.0.1"


def port_error(owner: str, host: str, port: int, error: Exception) -> UnsupportedError:
    """Returns the error of a server that cannot listen at a port.

    Parameters
    ----------
    owner : str
        Whose option `port` is.
    error : Exception
        The system's.
    """
    reason = getattr(error, "strerror", None) or error
    return UnsupportedError(
        f"{owner}.port must be one that is free on {host}, got {port}: {reason}; 0 takes any"
    )
