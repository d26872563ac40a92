"""The ways in which a group can form, each tested by a sum over its links."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.errors import PeerError
from sparkdl.exchange.connections.address import addresses
from sparkdl.exchange.connections.endpoint import Endpoint
from sparkdl.exchange.connections.tls import Tls
from sparkdl.exchange.group import Group
from sparkdl.exchange.rendezvous.address_rendezvous import AddressRendezvous, RendezvousServer
from sparkdl.exchange.rendezvous.file_rendezvous import FileRendezvous
from sparkdl.exchange.rendezvous.member import GroupMember
from sparkdl.exchange.rendezvous.member_links import connect
from tests.exchange.certificates import authority, member
from tests.exchange.pairs import SECRET

SIZE = 3
DIALED = {"address": "127.0.0.1", "port": 1, "machine": "m", "group": "g"}


@contextmanager
def by_files(folder):
    yield [FileRendezvous(folder / "meeting", rank, SIZE) for rank in range(SIZE)], {}


@contextmanager
def by_address(folder):
    with Endpoint(SECRET) as endpoint:
        RendezvousServer(SIZE, endpoint)
        places = [AddressRendezvous(endpoint.address, SECRET, r, SIZE) for r in range(SIZE)]
        yield places, {"toward": endpoint.address[0]}
        for place in places:
            place.close()


@contextmanager
def protected(**layers):
    with Endpoint(SECRET, **layers) as endpoint:
        RendezvousServer(SIZE, endpoint)
        ranks = range(SIZE)
        places = [AddressRendezvous(endpoint.address, SECRET, r, SIZE, **layers) for r in ranks]
        yield places, layers
        for place in places:
            place.close()


def under_tls(folder):
    return protected(tls=member(folder, "member", authority(folder, "ours")))


def under_tls_of_the_job(folder):
    return protected(tls=Tls().for_job())


def with_checksums(folder):
    return protected(integrity=True)


@contextmanager
def by_six(folder):
    if "::1" not in [ip for ip, _ in addresses()]:
        pytest.skip("this host has no IPv6 loopback")
    with by_files(folder) as (places, _):
        yield places, {"interface": "::1"}


@contextmanager
def in_a_range_of_ports(folder):
    with Endpoint(SECRET) as free:
        first = min(free.address[1] + 1, 65000)
    with by_files(folder) as (places, _):
        yield places, {"ports": f"{first}-{first + 400}"}


WAYS = [by_files, by_address, under_tls, under_tls_of_the_job, with_checksums]
WAYS += [by_six, in_a_range_of_ports]


@pytest.mark.parametrize("way", WAYS)
def test_a_group_forms_and_sums(way, tmp_path):
    with way(tmp_path) as (places, options), ThreadPoolExecutor(SIZE) as pool:
        sums = list(pool.map(lambda place: summed(place, options), places))
    assert sums == [6 * 100_000] * SIZE


def summed(place, options):
    with Group.form(place, SECRET, timeout=30.0, **options) as group:
        x = np.full(100_000, place.rank + 1, np.float32)
        group.all_reduce(x)
        group.barrier()
        return x.sum(dtype=np.float64)


def test_a_member_that_is_dialed_too_late_is_named():
    members = [GroupMember(**DIALED | {"rank": rank, "host": f"host-{rank}"}) for rank in range(3)]

    def slow(address, channel, rank, timeout):
        time.sleep(timeout)
        return socket.socket()

    endpoint = SimpleNamespace(connect=slow)
    with pytest.raises(PeerError, match="rank 1 on host-1: was not connected to within 0.05 s"):
        connect(members, 2, endpoint, 0.05)
