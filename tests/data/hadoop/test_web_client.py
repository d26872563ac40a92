"""Clients of WebHDFS, and the failed DataNodes that they exclude from retries."""

import sys

import pytest
from hdfs import HdfsError
from requests import ConnectionError as Unreachable
from requests import Request

from sparkdl.data.hadoop import base, native, streams, web, web_client
from sparkdl.data.hadoop.configuration import Configuration
from tests.data.hadoop.folders import SERVICE, configured

SECURE = {"hadoop.security.authentication": "kerberos", "fs.defaultFS": "hdfs://Blue"}


class Insecure:
    """Records the session it was created with."""

    def __init__(self, urls, user, timeout, session):
        self.session = session


@pytest.fixture(autouse=True)
def doubles(monkeypatch):
    monkeypatch.setattr(base, "_clients", {})
    monkeypatch.setattr(web_client, "InsecureClient", Insecure)
    monkeypatch.setenv("HADOOP_USER_NAME", "ann")


def failure(url):
    """Returns a connection error of requests, with or without a request to the URL."""
    return Unreachable("refused", request=url and Request("GET", url).prepare())


DETOURS = {
    "a DataNode": ("http://10.0.0.7:9864/webhdfs/v1/a?op=OPEN", ["10.0.0.7"]),
    "one of IPv6": ("http://[fd00::7]:9864/webhdfs/v1/a", ["fd00::7"]),
    "the NameNode": ("http://nn:9870/webhdfs/v1/a?op=OPEN", None),
    "the NameNode in small letters": ("http://NN:9870/webhdfs/v1/a?op=OPEN", None),
    "a host without an address": ("http://no.invalid:9864/a", None),
    "nobody knows": (None, None),
}


@pytest.mark.parametrize("url, avoided", DETOURS.values(), ids=DETOURS)
def test_a_datanode_that_failed_is_not_asked_again(tmp_path, monkeypatch, url, avoided):
    configured(tmp_path, monkeypatch)
    asked = []
    monkeypatch.setattr(web.WebFiles, "exists", lambda files, path: asked.append(path))
    detour = web_client.Detour(web.WebFiles("webhdfs", "nn"))
    for kind in (streams.AnotherWayLeft if avoided else Unreachable, Unreachable):
        with pytest.raises(kind), detour.client():
            raise failure(url)
    with detour.client() as client:
        params = client.session.params
    assert asked == ["/"] * 2 * ("://nn" in str(url).lower())  # waits until a NameNode answers
    assert params == ({"excludedatanodes": ",".join(avoided)} if avoided else {})


def test_datanodes_that_all_fail_are_not_tried_at_once_without_an_end(tmp_path, monkeypatch):
    configured(tmp_path, monkeypatch)
    detour = web_client.Detour(web.WebFiles("webhdfs", "nn"))

    def fail(number):
        with pytest.raises(OSError, match="refused|ConnectionError") as error, detour.client():
            raise failure(f"http://10.0.0.{number}:9864/a")
        return error.type

    at_once = [streams.AnotherWayLeft] * web_client.AT_ONCE
    assert [fail(number) for number in range(5)] == [*at_once, Unreachable, Unreachable]
    with detour.client():
        pass
    assert fail(5) is streams.AnotherWayLeft, "another node has answered meanwhile"


def test_where_no_other_datanode_is_left_those_that_failed_are_asked_again(tmp_path, monkeypatch):
    configured(tmp_path, monkeypatch)
    detour = web_client.Detour(web.WebFiles("webhdfs", "nn"))
    with pytest.raises(streams.AnotherWayLeft), detour.client():
        raise failure("http://10.0.0.7:9864/a")
    with pytest.raises(OSError, match=r"^no active nodes \(without 10.0.0.7\)$") as error:
        with web_client.plain("/a"), detour.client():
            raise HdfsError("no active nodes")
    assert not isinstance(error.value, streams.RequestRefused), "it is tried again"
    with detour.client() as client:
        assert client.session.params == {}


def test_a_host_that_failed_is_asked_again_after_a_while(tmp_path, monkeypatch):
    configured(tmp_path, monkeypatch)
    monkeypatch.setattr(web_client, "AVOIDED", 0.0)
    detour = web_client.Detour(web.WebFiles("webhdfs", "nn"))
    with pytest.raises(streams.AnotherWayLeft), detour.client():
        raise failure("http://10.0.0.7:9864/a")
    with detour.client() as client:
        assert client.session.params == {}


def test_answers_of_the_cluster_exclude_nobody(tmp_path, monkeypatch):
    configured(tmp_path, monkeypatch)
    detour = web_client.Detour(web.WebFiles("webhdfs", "nn"))
    with pytest.raises(streams.RequestRefused), detour.client(), web_client.plain("/a"):
        raise HdfsError("no permission")
    with detour.client() as client:
        assert client.session.params == {}


@pytest.mark.parametrize("scheme, is_refused", [("webhdfs", False), ("swebhdfs", True)])
def test_over_tls_alone_http_is_refused(tmp_path, monkeypatch, scheme, is_refused):
    configured(tmp_path, monkeypatch)
    with web_client.client_avoiding(scheme, "nn", ["10.0.0.7"]) as other:
        for client in (web_client.new_client(scheme, "nn"), other):
            adapter = client.session.get_adapter("http://dn/a")
            assert isinstance(adapter, web_client.NoHttp) == is_refused


def test_this_hosts_own_address():
    assert web_client.own_address("http://127.0.0.1:9870") == "127.0.0.1"
    assert web_client.own_address("http://[::1]:9870") == "::1"
    assert web_client.own_address("http://no.invalid:9870") is None


def test_a_cluster_without_webhdfs_has_no_nodes_elsewhere(tmp_path, monkeypatch):
    configured(tmp_path, monkeypatch, core=SECURE, hdfs=SERVICE)
    monkeypatch.setitem(sys.modules, "hdfs.ext.kerberos", None)
    monkeypatch.setattr(web_client, "own_address", lambda url: "10.0.0.1")
    with pytest.raises(OSError, match="^no DataNode of another host: .*kerberos"):
        native.write_elsewhere("Blue", "/a", None)


WEB = {
    "nn:8020": ({}, "webhdfs", "nn"),
    "nn": ({}, "webhdfs", "nn"),
    "Blue": ({"fs.defaultFS": "hdfs://other"}, "webhdfs", "Blue"),
    "": ({}, "webhdfs", ""),
    "one:9000": ({"fs.defaultFS": "hdfs://one:9000"}, "webhdfs", ""),
    "two:9000": ({"fs.defaultFS": "hdfs://two:9000/"}, "webhdfs", ""),
    "one": ({"fs.defaultFS": "hdfs://one", "dfs.http.policy": "HTTPS_ONLY"}, "swebhdfs", ""),
    "other": ({"dfs.http.policy": "HTTP_AND_HTTPS"}, "swebhdfs", "other"),
}


EVERY_ADDRESS = {
    "": ({"fs.defaultFS": "hdfs://one:9000/"}, {"dfs.namenode.http-address": "0.0.0.0:50070"}),
    "Blue": (
        {},
        {
            "dfs.namenode.http-address.Blue.nn1": "0.0.0.0:50070",
            "dfs.namenode.rpc-address.Blue.nn1": "one:8020",
        },
    ),
}


@pytest.mark.parametrize("authority", EVERY_ADDRESS)
def test_a_web_server_on_all_addresses_is_on_the_host_of_native_rpc(
    tmp_path, monkeypatch, authority
):
    core, hdfs = EVERY_ADDRESS[authority]
    configured(tmp_path, monkeypatch, core=core, hdfs=SERVICE | hdfs)
    assert Configuration.read().web_addresses(authority)[0] == "one:50070"


@pytest.mark.parametrize("authority", WEB)
def test_where_webhdfs_is(tmp_path, monkeypatch, authority):
    own, *expected = WEB[authority]
    core = {"fs.defaultFS": "hdfs://Blue"} | own
    configured(tmp_path, monkeypatch, core=core, hdfs=SERVICE)
    conf = Configuration.read()
    assert [conf.web_scheme(), conf.web_authority(authority)] == expected


PRIVATE = [
    {"hadoop.rpc.protection": "privacy"},
    {"dfs.data.transfer.protection": "integrity,privacy"},
    {"dfs.encrypt.data.transfer": "true"},
]


@pytest.mark.parametrize("core", PRIVATE)
def test_data_that_a_cluster_encrypts_do_not_go_elsewhere_in_the_clear(tmp_path, monkeypatch, core):
    configured(tmp_path, monkeypatch, core=core)
    with pytest.raises(OSError, match="encrypts its data, but has no WebHDFS over HTTPS$"):
        native.write_elsewhere("nn:8020", "/a", None)
