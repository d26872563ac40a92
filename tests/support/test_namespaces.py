"""The two hosts of other tests: they reach each other at the requested rate, and are removed."""

import os
import sys

import pytest

from tests.support.namespaces import DEVICE, gone, kill, two_hosts, why_not
from tests.support.waiting import LIMIT, until

REASON = why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))

TAKE = """
import socket, sys, time
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.create_server((sys.argv[1], 5000), family=family) as server:
    began, count = time.perf_counter(), 0
    print("listening", flush=True)
    sock, _ = server.accept()
    while data := sock.recv(1 << 20):
        count += len(data)
    print(count, time.perf_counter() - began)
"""
GIVE = """
import socket, sys
with socket.create_connection((sys.argv[1], 5000), 10) as sock:
    sock.sendall(bytes(int(sys.argv[2])))
"""


@pytest.fixture
def hosts():
    with two_hosts() as pair:
        yield pair


def send(source, target, count, six=False):
    """Returns an upper bound, in seconds, on sending `count` bytes from one host to the other."""
    to = target.address6 if six else target.address
    with target.start(sys.executable, "-c", TAKE, to, stdout=-1, text=True) as taker:
        assert taker.stdout.readline() == "listening\n"
        source.run(sys.executable, "-c", GIVE, to, count)
        got, seconds = taker.stdout.read().split()
    assert int(got) == count
    return float(seconds)


@pytest.mark.slow
@pytest.mark.parametrize("six", [False, True], ids=["IPv4", "IPv6"])
def test_they_reach_each_other(six, hosts):
    left, right = hosts
    send(left, right, 1000, six)
    send(right, left, 1000, six)


@pytest.mark.slow
def test_a_rate_holds_until_it_is_lifted(hosts):
    left, right = hosts
    left.limit("80mbit")
    assert send(left, right, 8_000_000) > 0.6  # 0.8 s, less what may come in a burst
    assert "tbf" in queue(left)
    left.limit(None)
    assert "tbf" not in queue(left)
    send(left, right, 4_000_000)


def queue(host):
    return host.run("tc", "qdisc", "show", "dev", DEVICE).stdout


def test_each_has_a_name_processes_and_shared_memory_of_its_own(hosts):
    left, right = hosts
    assert [host.run("hostname").stdout for host in hosts] == ["left\n", "right\n"]
    left.run("touch", "/dev/shm/mine")
    assert left.run("ls", "/dev/shm").stdout == "mine\n"  # the next program sees it
    assert right.run("ls", "/dev/shm").stdout == ""
    assert not os.path.exists("/dev/shm/mine")
    assert int(left.run("sh", "-c", "ls -d /proc/[0-9]* | wc -l").stdout) < 10


@pytest.mark.slow
def test_a_link_is_cut_and_mended(hosts):
    left, right = hosts
    left.cut()
    refused = left.run(sys.executable, "-c", GIVE, right.address, 1, check=False)
    assert "unreachable" in refused.stderr
    left.mend()
    send(left, right, 1000)
    send(left, right, 1000, six=True)


@pytest.mark.slow
def test_what_runs_there_can_be_killed_and_ends_with_the_host():
    with two_hosts() as (left, right):
        kill(left.start("sh", "-c", "sleep 100 & sleep 100"))
        assert gone(left)
        sleeper = right.start("sleep", "100")
        [pid] = until(right.processes)
    assert sleeper.wait(LIMIT) != 0
    assert not os.path.exists(f"/proc/{pid}")
