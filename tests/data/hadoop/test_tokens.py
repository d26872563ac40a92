"""Delegation tokens in files as YARN writes them, and the clients that use them."""

import base64
import socket
import struct

import pytest
from hdfs import TokenClient

from sparkdl.data.hadoop import native, tokens, web_client
from sparkdl.data.hadoop.configuration import Configuration
from sparkdl.errors import DataError
from tests.data.hadoop.folders import SERVICE, configured

SECURE = {"hadoop.security.authentication": "kerberos", "fs.defaultFS": "hdfs://nn:8020"}
HOSTS = {"nn": "10.0.0.7", "one": "10.0.0.1", "two": "10.0.0.2"}


def piece(content):
    """Bytes with their length, as Hadoop's WritableUtils writes them."""
    size = len(content)
    if size < 128:
        return bytes([size]) + content
    return (b"\x8f" + bytes([size]) if size < 256 else b"\x8e" + struct.pack(">H", size)) + content


def token(service, kind="HDFS_DELEGATION_TOKEN", size=70):
    parts = b"i" * size, b"password", kind.encode(), service.encode()
    return b"".join(map(piece, parts))


def write(monkeypatch, path, *found):
    """Writes a file of tokens, which becomes this process's."""
    content = b"HDTS\0" + bytes([len(found)]) + b"".join(piece(b"an alias") + one for one in found)
    path.write_bytes(content)
    monkeypatch.setenv(tokens.LOCATION, str(path))


@pytest.fixture(autouse=True)
def hosts(monkeypatch):
    """Known hosts; others are unknown."""

    def find(host, port, *_):
        if host not in HOSTS:
            raise socket.gaierror("unknown")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (HOSTS[host], 0))]

    monkeypatch.setattr(tokens.socket, "getaddrinfo", find)


ADDRESSES = [  # services of the tokens, and the address that hdfs-native gets for hdfs://nn:8020
    (["10.0.0.8:8020", "10.0.0.7:8020"], "10.0.0.7:8020"),
    (["10.0.0.7:9000"], "nn:8020"),
    (["mynn:8020", "10.0.0.7:8020"], "10.0.0.7:8020"),  # a whole service
    (["110.0.0.7:8020"], "nn:8020"),
    (["nn:8020", "10.0.0.7:8020"], "nn:8020"),  # hadoop.security.token.service.use_ip=false
    ([], "nn:8020"),
]


@pytest.mark.parametrize("services, expected", ADDRESSES)
def test_hdfs_native_gets_the_address_that_a_token_names(tmp_path, monkeypatch, services, expected):
    write(monkeypatch, tmp_path / "tokens", *map(token, services))
    monkeypatch.setattr(native, "Client", lambda uri, config: uri)
    configured(tmp_path, monkeypatch, core=SECURE)
    assert native.NativeFiles.new_client("hdfs", "nn") == f"hdfs://{expected}"


@pytest.mark.parametrize("location", ["", "/none"])
def test_without_tokens_the_address_stays(monkeypatch, location):
    monkeypatch.setenv(tokens.LOCATION, location)
    assert tokens.named_in_tokens("nn:8020") == "nn:8020"


def test_the_address_of_an_unknown_host_stays(tmp_path, monkeypatch):
    write(monkeypatch, tmp_path / "tokens", token("10.0.0.7:8020"))
    assert tokens.named_in_tokens("other:8020") == "other:8020"


def test_the_links_of_viewfs_too(tmp_path, monkeypatch):
    links = {"/a": "hdfs://nn:8020/a/b:9", "/b": "hdfs://Blue/b", "/c": "hdfs://one:8020/c"}
    core = {f"fs.viewfs.mounttable.all.link.{name}": target for name, target in links.items()}
    write(monkeypatch, tmp_path / "tokens", token("10.0.0.7:8020"), token("ha-hdfs:Blue"))
    monkeypatch.setattr(native, "Client", lambda uri, config: config)
    configured(tmp_path, monkeypatch, core=core | SECURE)
    config = native.NativeFiles.new_client("viewfs", "all")
    named = {name: config[f"fs.viewfs.mounttable.all.link.{name}"] for name in links}
    assert named == links | {"/a": "hdfs://10.0.0.7:8020/a/b:9"}


WEB = [
    ("", "10.0.0.7:8020"),
    ("nn", "nn:8020"),
    ("nn:9870", "10.0.0.7:8020"),
    ("Blue", "ha-hdfs:Blue"),
]


@pytest.mark.parametrize("size", [70, 200, 300])
@pytest.mark.parametrize("authority, service", WEB)
def test_webhdfs_sends_the_token_of_its_cluster(tmp_path, monkeypatch, authority, service, size):
    """Requests get it in the form of Hadoop's Token.encodeToUrlString."""
    others = token("10.0.0.8:8020"), token(service, kind="other")
    write(monkeypatch, tmp_path / "tokens", *others, token(service, size=size))
    configured(tmp_path, monkeypatch, core=SECURE, hdfs=SERVICE)
    client = web_client.new_client("webhdfs", authority)
    assert isinstance(client, TokenClient)
    sent = client._session.params["delegation"]
    assert base64.urlsafe_b64decode(sent + "=" * (-len(sent) % 4)) == token(service, size=size)


def test_a_token_goes_to_no_other_cluster(tmp_path, monkeypatch):
    write(monkeypatch, tmp_path / "tokens", token("10.0.0.7:8020"), token("ha-hdfs:Blue"))
    assert tokens.token_for(["one"], "one") is None


def test_a_token_goes_to_no_other_server_of_the_host(tmp_path, monkeypatch):
    write(monkeypatch, tmp_path / "tokens", token("10.0.0.7:8020"))
    for address, is_sent in (("nn:14000", False), ("nn:50070", True)):
        configured(
            tmp_path, monkeypatch, core=SECURE, hdfs={"dfs.namenode.http-address": "nn:50070"}
        )
        found = web_client.token_of(Configuration.read(), "webhdfs", address)
        assert (found is not None) == is_sent


def test_a_damaged_file_of_tokens_is_named(tmp_path, monkeypatch):
    place = tmp_path / "tokens"
    write(monkeypatch, place, token("10.0.0.7:8020"))
    place.write_bytes(place.read_bytes()[:4] + b"\0\1")
    with pytest.raises(DataError, match=f"^{place}: cannot be read as delegation tokens: "):
        tokens.own_tokens()


@pytest.mark.parametrize("content", [b"", b"HDTS\1and more", b"other"])
def test_other_files_have_no_tokens_for_webhdfs(content):
    assert [*tokens.file_tokens(content)] == []
