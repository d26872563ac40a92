"""Default address of a fit's servers, and the errors if they cannot listen there."""

from typing import Any

from sparkdl.config import is_integer
from sparkdl.errors import UnsupportedError, require

HOST = "127.0.0.1"
HIGHEST = 65535


def require_port(owner: Any) -> None:
    """Raises ConfigError unless the option `port` of an object is the number of a port, or 0."""
    sound = is_integer(owner.port, 0) and owner.port <= HIGHEST
    require(owner, "port", sound, f"an integer from 0 to {HIGHEST}")


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
