"""Reachability check of a standalone master, as a JVM would retry for over a minute."""

from sparkdl.errors import UnsupportedError
from sparkdl.exchange.connections.deadline import Deadline
from sparkdl.exchange.connections.sockets import connect

SCHEME = "spark://"
TIME_LIMIT = 5.0  # seconds for each master
PORT = 7077  # Spark's default


def check_standalone_master(master: str) -> None:
    """Raises UnsupportedError if nobody listens at the addresses of a spark:// URL.

    Other URLs are left to Spark. One of several masters, host1:port1,host2:port2, is enough: the
    others may be on standby.
    """
    if not master.startswith(SCHEME):
        return
    reasons = []
    for place in master.removeprefix(SCHEME).split(","):
        reason = why_unreachable(place)
        if reason is None:
            return
        reasons.append(f"{place}: {reason}")
    raise UnsupportedError(
        f"master must be a standalone Spark master that accepts connections, got {master!r} "
        f"({'; '.join(reasons)}); start it, or use the URL that its web page shows"
    )


def why_unreachable(place: str) -> str | None:
    """Returns why a host and port cannot be connected to, or None if they can."""
    host, _, port = place.rpartition(":") if ":" in place else (place, "", str(PORT))
    if not port.isdecimal():
        return f"no port {port!r}"
    try:
        connect((host.strip("[]"), int(port)), Deadline(TIME_LIMIT)).close()
    except (OSError, OverflowError) as error:
        return str(error)
    return None
