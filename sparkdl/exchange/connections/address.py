"""Choice of the address of this host that other processes should dial."""

import contextlib
import fcntl
import os
import socket
import struct
import sys
from ipaddress import ip_address, ip_network
from pathlib import Path

from sparkdl.errors import ConfigError
from sparkdl.exchange.connections.sockets import family

VARIABLE = "SPARKDL_INTERFACE"
LOOPBACK = "127.0.0.1"
SIOCGIFADDR = 0xC0206921 if sys.platform == "darwin" else 0x8915  # "get interface address"
UNROUTED = ("198.51.100.1", 9)  # reserved for documentation, assigned to no host (RFC 5737)
INET6 = Path("/proc/net/if_inet6")


def own_address(interface=None, toward=None):
    """Returns the address of this host that others should dial, as text.

    Parameters
    ----------
    interface : str, optional
        Name of an interface ("eth1"), an address of this host, a network ("10.1.0.0/16": the same
        text then fits every host), or the host's own name, as Spark may know its driver. Defaults
        to the variable SPARKDL_INTERFACE.
    toward : str, optional
        A host that all processes can reach, such as the driver. If no interface is set, the address
        from which this host reaches it is used; without either, the loopback address, which serves
        processes of one machine.

    Raises
    ------
    ConfigError
        If there is no such interface or address here.
    """
    name = interface or os.environ.get(VARIABLE)
    if name:
        return address_of_name(name, toward)
    return reaching(toward) if toward else LOOPBACK


def address_of_name(interface, toward=None):
    local = addresses()
    matches = dict.fromkeys(
        ip for ip, name in local if interface == name or is_within(ip, interface)
    )
    if not matches and bindable(interface):  # an interface may have addresses that are not listed
        return interface
    if not matches and any(map(bindable, resolve_host(interface))):
        return reaching(interface)
    if not matches:
        have = ", ".join(f"{name} {ip}" for ip, name in local)
        raise ConfigError(
            f"interface (or {VARIABLE}) must name an interface, address or network of this host "
            f"({have}), got {interface!r}"
        )
    kind = family(reaching(toward)) if toward else family(next(iter(matches)))
    return next((ip for ip in matches if family(ip) == kind), next(iter(matches)))


def is_within(ip, network):
    with contextlib.suppress(ValueError):
        return ip_address(ip) in ip_network(network, strict=False)
    return False


def resolve_host(name):
    """Resolves a host name to its addresses."""
    with contextlib.suppress(OSError, UnicodeError):
        infos = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        return [where[0] for *_, where in infos]
    return []


def bindable(address):
    with contextlib.suppress(ValueError, OSError):
        ip = str(ip_address(address))
        with socket.socket(family(ip), socket.SOCK_DGRAM) as sock:
            sock.bind((ip, 0))
            return True
    return False


def reaching(host):
    """Returns the local source address of packets to `host`, without sending any.

    Many hosts resolve their own name to a loopback address, which no other host can dial. In that
    case the address of the default route is returned.
    """
    try:
        places = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)
    except OSError as error:
        raise ConfigError(f"toward must name a host, got {host!r}: {error}") from error
    local = next(filter(None, (source(place[4]) for place in places)), None)
    if local is None:
        raise ConfigError(
            f"toward must be a host that can be reached from here, got {host!r}; set {VARIABLE}"
        )
    by_name = (
        not is_within(host, "0.0.0.0/0") and not is_within(host, "::/0") and host != "localhost"
    )
    return default_address() or local if by_name and ip_address(local).is_loopback else local


def source(place):
    """Returns the source address of packets to `place`, or None if there is no route."""
    with contextlib.suppress(OSError):
        with socket.socket(family(place[0]), socket.SOCK_DGRAM) as sock:
            sock.connect(place)
            return sock.getsockname()[0]


def default_address():
    """Returns the source address of the default route, else any non-loopback address, or None."""
    others = (ip for ip, _ in addresses() if not ip_address(ip).is_loopback)
    return source(UNROUTED) or next(others, None)


def addresses():
    """Returns [(address, interface)] of this host: IPv4 before IPv6, without link-local ones."""
    names = [name for _, name in socket.if_nameindex()]
    return [*four(names), *six()]


def four(names):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for name in names:
            request = struct.pack("256s", name.encode()[:15])
            with contextlib.suppress(OSError):  # an interface without an IPv4 address
                yield socket.inet_ntoa(fcntl.ioctl(sock, SIOCGIFADDR, request)[20:24]), name


def six():
    lines = INET6.read_text().splitlines() if INET6.exists() else []
    for digits, *_, name in map(str.split, lines):
        ip = ip_address(bytes.fromhex(digits))
        if not ip.is_link_local:
            yield str(ip), name
