"""A standalone Spark's master, asked for before a JVM that would try for a minute and more."""

from sparkdl.errors import UnsupportedError
from sparkdl.exchange.connections.deadline import Deadline
from sparkdl.exchange.connections.sockets import connect

SCHEME = "spark://"
TIME_LIMIT = 5.0  # seconds for each of several masters
PORT = 7077  # Spark's own, where a URL has none


def check_standalone_master(master: str) -> None:
    """Raises UnsupportedError where nobody listens at the addresses of a spark:// URL.

    URLs of other kinds are left to Spark. One of several masters, host1:port1,host2:port2, is
    enough: the others may be on standby.
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
        f"master must be a standalone Spark that listens, got {master!r} ({'; '.join(reasons)}); "
        "start it, or take the URL that its page shows"
    )


def why_unreachable(place: str) -> str | None:
    """Returns why there is no connection to a host and port, or None where there is one."""
    host, _, port = place.rpartition(":") if ":" in place else (place, "", str(PORT))
    if not port.isdecimal():
        return f"no port {port!r}"
    try:
        connect((host.strip("[]"), int(port)), Deadline(TIME_LIMIT)).close()
    except (OSError, OverflowError) as error:
        return str(error)
    return None
