"""TCP sockets with the settings of this package: free ports, no delays, large buffers."""

import contextlib
import re
import socket
from pathlib import Path

from sparkdl.errors import ConfigError

BUFFER = 4 << 20
BACKLOG = 1024  # rank 0 of a large group is called by all others at once
LIMITS = {
    socket.SO_SNDBUF: Path("/proc/sys/net/core/wmem_max"),
    socket.SO_RCVBUF: Path("/proc/sys/net/core/rmem_max"),
}


def ports_in(text):
    """Returns the ports that "0" (any free one), "40000" or "40000-40100" names."""
    match = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if not first <= last < 1 << 16:
        raise ConfigError(f'ports must be "0", "40000" or "40000-40100", got {text!r}')
    return range(first, last + 1)


def listening(ip, ports):
    """Returns a socket that listens at `ip` on the first free port of the range `ports` names."""
    reason = None
    for port in ports_in(ports):
        sock = socket.socket(family(ip))
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tune(sock)
            sock.bind((ip, port))
            sock.listen(BACKLOG)
            return sock
        except OSError as error:
            sock.close()
            reason = error
    raise ConfigError(f"ports must have a free one at {ip}, got {ports!r}: {reason}") from reason


def connect(address, deadline):
    """Returns a socket connected to (host or ip, port).

    The last OSError if none of its addresses works.
    """
    reason = OSError("no address")
    host, port = address
    for kind, *_, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        sock = socket.socket(kind)
        try:
            tune(sock)
            sock.settimeout(deadline.remaining())
            sock.connect(place)
            if sock.getsockname() == sock.getpeername():  # a free port of ours can dial itself
                raise ConnectionRefusedError("nobody listens there")
            return sock
        except OSError as error:
            sock.close()
            reason = error
    raise reason


def tune(sock):
    """Sends at once; buffers of 4 MB, before connecting, so that the window can grow to them."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for option, limit in LIMITS.items():
        if (
            kernel_limit(limit) >= BUFFER
        ):  # else the size that Linux finds by itself is the better one
            sock.setsockopt(socket.SOL_SOCKET, option, BUFFER)


def kernel_limit(limit):
    try:
        return int(limit.read_text())
    except OSError:
        return 0


def family(ip):
    return socket.AF_INET6 if ":" in ip else socket.AF_INET


def format_address(address):
    """Returns an address as people write it: 10.0.0.5:4000, [fd00::2]:4000."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def hang_up(sock):
    """Closes for both sides."""
    wake(sock)
    sock.close()


def wake(sock):
    """Ends the connection, but leaves closing to the thread that may be waiting on it right now."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # TLS's own would go on in plain text
