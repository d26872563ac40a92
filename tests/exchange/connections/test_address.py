"""The address that others dial: the configured one, else that of the route to the driver."""

import socket

import pytest

from sparkdl.errors import ConfigError
from sparkdl.exchange.connections import address
from sparkdl.exchange.connections.address import VARIABLE, addresses, default_address, own_address
from sparkdl.exchange.connections.endpoint import Endpoint
from tests.exchange.pairs import SECRET

SIX = pytest.mark.skipif(
    "::1" not in [ip for ip, _ in addresses()], reason="this host has no IPv6 loopback"
)
LOOP = "lo" if "lo" in [name for _, name in socket.if_nameindex()] else "lo0"
CHOICES = [
    (None, None, "127.0.0.1"),
    (LOOP, None, "127.0.0.1"),
    ("127.0.0.1", None, "127.0.0.1"),
    ("127.0.0.0/8", None, "127.0.0.1"),
    ("127.0.0.0/8", "localhost", "127.0.0.1"),
    (None, "127.0.0.1", "127.0.0.1"),
    pytest.param("::1", None, "::1", marks=SIX),
    pytest.param("::/64", None, "::1", marks=SIX),
    pytest.param(LOOP, "::1", "::1", marks=SIX),
    pytest.param(None, "::1", "::1", marks=SIX),
]


@pytest.mark.parametrize("interface, toward, expected", CHOICES)
def test_the_address_is_the_one_asked_for(interface, toward, expected, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert own_address(interface, toward) == expected
    if interface:
        monkeypatch.setenv(VARIABLE, interface)
        assert own_address(None, toward) == expected


def test_an_option_counts_more_than_the_variable(monkeypatch):
    monkeypatch.setenv(VARIABLE, "nonsense")
    assert own_address(LOOP) == "127.0.0.1"


@pytest.mark.parametrize("wanted", ["nonsense", "203.0.113.7", "203.0.113.0/24", "2001:db8::1"])
def test_what_is_not_here_is_refused_with_what_is(wanted):
    with pytest.raises(ConfigError, match=f"of this host .*{LOOP} 127.0.0.1.*got '{wanted}'"):
        own_address(wanted)


def test_the_name_of_the_driver_may_be_given_on_the_driver(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert own_address("localhost") == own_address(toward="localhost")
    monkeypatch.setattr(address, "resolve_host", lambda name: ["127.0.1.1"])
    monkeypatch.setattr(address, "reaching", lambda name: f"the way to {name}")
    assert own_address("this-host") == "the way to this-host"


def test_toward_must_be_a_host():
    with pytest.raises(ConfigError, match="toward must name a host, got 'nowhere.invalid'"):
        own_address(toward="nowhere.invalid")


def test_a_host_that_knows_its_name_by_the_loopback_is_found_by_the_way_out(monkeypatch):
    place = (socket.AF_INET, socket.SOCK_DGRAM, 17, "", ("127.0.1.1", 9))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [place])
    assert own_address(toward="this-host") == (default_address() or "127.0.0.1")


def test_a_second_address_of_an_interface_is_ours_too():
    if not address.bindable("127.0.0.2"):
        pytest.skip("this host has one loopback address only")
    with Endpoint(SECRET, interface="127.0.0.2") as endpoint:
        assert endpoint.address[0] == "127.0.0.2"


@pytest.mark.parametrize("ip", ["127.0.0.1", pytest.param("::1", marks=SIX)])
def test_calls_work_at_any_kind_of_address(ip):
    with Endpoint(SECRET, interface=ip, timeout=5) as endpoint:
        with endpoint.connect(endpoint.address, "links", rank=4) as here:
            rank, there = endpoint.accept("links")
            here.sendall(b"x")
            assert rank == 4 and there.recv(1) == b"x"
            there.close()
