"""TLS works like plain connections for peers with valid certificates, and refuses all others."""

import dataclasses
import os
import pickle
import shutil
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from sparkdl.errors import ConfigError, PeerError, UnsupportedError
from sparkdl.exchange.connections.dialer import dial
from sparkdl.exchange.connections.endpoint import Endpoint
from sparkdl.exchange.connections.handshake import PROTOCOL, TLS_ONLY
from sparkdl.exchange.connections.tls import Tls
from sparkdl.exchange.messages.wire import Wire
from tests.exchange.certificates import authority, member
from tests.exchange.pairs import SECRET


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def ours(folder):
    return authority(folder, "ours")


@pytest.fixture(scope="module")
def tls(folder, ours):
    return member(folder, "member", ours)


@pytest.fixture(scope="module")
def stranger(folder):
    return member(folder, "stranger", authority(folder, "theirs"))


@pytest.fixture
def endpoint(tls):
    with Endpoint(SECRET, tls=tls, timeout=5.0) as endpoint:
        yield endpoint


def connected(endpoint):
    here = endpoint.connect(endpoint.address, "wire", rank=1)
    rank, there = endpoint.accept("wire")
    assert rank == 1
    assert here.getpeername() == endpoint.address and there.getpeername()[0] == "127.0.0.1"
    return Wire(here, "here", 5.0), Wire(there, "there", 5.0)


@pytest.mark.slow
def test_messages_travel_both_ways_at_once(endpoint):
    big = np.random.default_rng(0).normal(size=1_000_000)
    a, b = connected(endpoint)
    with a, b:
        senders = [threading.Thread(target=w.send, args=({}, big, big[:3])) for w in (a, b)]
        for sender in senders:
            sender.start()
        got = [wire.receive()[1] for wire in (a, b)]
        for sender in senders:
            sender.join(5)
        for whole, part in got:
            np.testing.assert_array_equal(whole, big)
            np.testing.assert_array_equal(part, big[:3])
    wait_for_no("sparkdl-tls")


def test_the_end_of_a_peer_is_seen_after_its_last_message(endpoint):
    a, b = connected(endpoint)
    with b:
        a.send({"last": 1}, np.ones(100_000))
        a.close()
        meta, [array] = b.receive()
        assert meta == {"last": 1} and array.sum() == 100_000
        with pytest.raises(PeerError, match="hung up"):
            b.receive()
    wait_for_no("sparkdl-tls")


def wait_for_no(name):
    end = time.monotonic() + 60
    while any(thread.name == name for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.01)


LAST_WORDS = """
import sys
from sparkdl.exchange.connections.dialer import dial
from sparkdl.exchange.connections.tls import Tls
host, port, secret, *files = sys.argv[1:]
tls = Tls(**dict(zip(["certificate", "key", "authorities"], files)))
sock = dial((host, int(port)), bytes.fromhex(secret), "wire", timeout=20, tls=tls)
sock.setblocking(True)
sock.sendall(bytes(150_000))
"""


def test_the_last_bytes_of_a_process_that_ends_arrive(endpoint, tls):
    host, port = endpoint.address
    files = dataclasses.astuple(tls)
    command = [sys.executable, "-c", LAST_WORDS, host, str(port), SECRET.hex(), *files]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}):
        _, sock = endpoint.accept("wire", timeout=120)
        sock.settimeout(60)
        with sock:
            got = 0
            while part := sock.recv(1 << 20):
                got += len(part)
    assert got == 150_000


def test_a_certificate_of_other_authorities_is_refused(endpoint, stranger):
    trusting = dataclasses.replace(stranger, authorities=endpoint._tls.authorities)
    for caller in (stranger, trusting):
        with Endpoint(SECRET, tls=caller) as other:
            with pytest.raises(PeerError, match="certificate is not valid t?here under"):
                other.connect(endpoint.address, "wire")
    assert_refused(endpoint, {"TLS": 2})


def assert_refused(endpoint, counts):
    end = time.monotonic() + 30
    while endpoint.refused != counts and time.monotonic() < end:
        time.sleep(0.01)
    assert endpoint.refused == counts


def test_the_side_whose_certificate_is_at_fault_is_named_and_why(endpoint, folder, ours):
    expired = member(folder, "expired", ours, days=-1)
    with Endpoint(SECRET, tls=expired, timeout=5.0) as other:
        with pytest.raises(
            PeerError, match="its certificate is not valid here .*: certificate has expired"
        ):
            endpoint.connect(other.address, "wire")
        with pytest.raises(
            PeerError, match="our certificate is not valid there .* alert certificate expired"
        ):
            other.connect(endpoint.address, "wire")


def test_files_that_were_renewed_are_read_again(tls, stranger, tmp_path):
    names = [field.name for field in dataclasses.fields(tls)]
    files = Tls(**{name: shutil.copy(getattr(tls, name), tmp_path / name) for name in names})
    with Endpoint(SECRET, tls=files, timeout=5.0) as endpoint:
        endpoint.connect(endpoint.address, "wire").close()
        for name in names:
            shutil.copy(getattr(stranger, name), getattr(files, name))
        with Endpoint(SECRET, tls=stranger, timeout=5.0) as other:
            other.connect(endpoint.address, "wire").close()
            endpoint.connect(other.address, "wire").close()


def test_in_the_middle_of_a_renewal_the_files_before_hold(tls, stranger, tmp_path, caplog):
    names = [field.name for field in dataclasses.fields(tls)]
    files = Tls(**{name: shutil.copy(getattr(tls, name), tmp_path / name) for name in names})
    with Endpoint(SECRET, tls=files, timeout=5.0) as endpoint:
        endpoint.connect(endpoint.address, "wire").close()
        shutil.copy(stranger.certificate, files.certificate)  # its key arrives later
        endpoint.connect(endpoint.address, "wire").close()
        os.remove(files.key)
        endpoint.connect(endpoint.address, "wire").close()
    assert "continuing with the previous files" in caplog.text
    with pytest.raises(ConfigError, match="Tls.key must be a file on this host"):
        files.check()


@pytest.mark.parametrize("integrity", [False, True])
def test_tls_on_one_side_only_is_refused_at_once(integrity, endpoint):
    with Endpoint(SECRET, integrity=integrity) as bare:
        with pytest.raises(PeerError, match="TLS on one side only"):
            endpoint.connect(bare.address, "wire", timeout=30)
        with pytest.raises(PeerError, match="speaks another protocol.*the same tls"):
            bare.connect(endpoint.address, "wire", timeout=30)
    assert_refused(endpoint, {"TLS": 1})


def test_the_protocol_may_come_in_pieces(endpoint):
    """One byte is enough to see that a caller does not use TLS."""
    with socket.create_connection(endpoint.address, timeout=5) as sock:
        sock.sendall(PROTOCOL[:1])
        assert sock.recv(100) == TLS_ONLY


@pytest.mark.parametrize("field", ["certificate", "key", "authorities"])
def test_files_must_be_there_and_fit(field, tls, stranger, tmp_path):
    garbage = tmp_path / "garbage"
    garbage.write_text("none")
    for value, text in [("/none", f"Tls.{field} must be a file"), (garbage, "PEM files that fit")]:
        broken = dataclasses.replace(tls, **{field: str(value)})
        with pytest.raises(ConfigError, match=text):
            Endpoint(SECRET, tls=broken)
        with pytest.raises(ConfigError, match=text):
            dial(("127.0.0.1", 9), SECRET, "wire", tls=broken)


def test_a_certificate_for_the_job_needs_a_package_on_the_driver(monkeypatch):
    for name in ("cryptography.hazmat.primitives.asymmetric", "cryptography.hazmat.primitives"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UnsupportedError, match=r"cryptography on the driver: pip install 'sparkdl"):
        Tls().for_job()


def test_a_certificate_for_the_job_is_accepted_by_its_processes_alone():
    ours, theirs = Tls().for_job(), Tls().for_job()
    assert ours.key not in repr(ours).encode() and "PRIVATE" not in repr(ours)
    with Endpoint(SECRET, tls=pickle.loads(pickle.dumps(ours))) as endpoint:
        with Endpoint(SECRET, tls=theirs) as other:
            with pytest.raises(PeerError, match="certificate is not valid t?here under"):
                other.connect(endpoint.address, "wire")
        with Endpoint(SECRET, tls=ours) as other:
            other.connect(endpoint.address, "wire").close()
