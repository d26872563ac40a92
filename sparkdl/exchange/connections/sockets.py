"""TCP sockets as this package configures them: free ports, no delays, large buffers."""

import contextlib
import re
import socket
from pathlib import Path

from sparkdl.errors import ConfigError

BUFFER = 4 << 20
BACKLOG = 1024  # all ranks of a large group may call rank 0 at once
LIMITS = {
    socket.SO_SNDBUF: Path("/proc/sys/net/core/wmem_max"),
    socket.SO_RCVBUF: Path("/proc/sys/net/core/rmem_max"),
}


def ports_in(text):
    """Parses "0" (any free port), "40000" or "40000-40100" into a range of ports."""
    match = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if not first <= last < 1 << 16:
        raise ConfigError(f'ports must be "0", "40000" or "40000-40100", got {text!r}')
    return range(first, last + 1)


def listening(ip, ports):
    """Returns a socket listening at `ip` on the first free port of the range `ports`."""
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

    Raises the last OSError if none of the host's addresses works.
    """
    reason = OSError("no address")
    host, port = address
    for kind, *_, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        sock = socket.socket(kind)
        try:
            tune(sock)
            sock.settimeout(deadline.remaining())
            sock.connect(place)
            if sock.getsockname() == sock.getpeername():  # a free local port can connect to itself
                raise ConnectionRefusedError("nobody listens there")
            return sock
        except OSError as error:
            sock.close()
            reason = error
    raise reason


def tune(sock):
    """Disables Nagle's algorithm and sets 4 MiB buffers.

    To be called before connecting, so that the TCP window can grow to the buffer size.
    """
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for option, limit in LIMITS.items():
        if kernel_limit(limit) >= BUFFER:  # else Linux's automatic buffer sizing does better
            sock.setsockopt(socket.SOL_SOCKET, option, BUFFER)


def kernel_limit(limit):
    try:
        return int(limit.read_text())
    except OSError:
        return 0


def family(ip):
    return socket.AF_INET6 if ":" in ip else socket.AF_INET


def format_address(address):
    """Formats an address for display: 10.0.0.5:4000, [fd00::2]:4000."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def hang_up(sock):
    """Shuts down both directions and closes the socket."""
    wake(sock)
    sock.close()


def wake(sock):
    """Shuts the connection down, but leaves closing to a thread that may be blocked on it."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # TLS's own would continue in plain text
