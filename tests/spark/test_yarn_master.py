"""Addresses of YARN's ResourceManagers: one that listens is enough; else the error names all."""

import socket

import pytest

from sparkdl.errors import UnsupportedError
from sparkdl.spark.session import session
from sparkdl.spark.yarn_master import check_yarn, hadoop_properties, resource_managers

MANAGER = "yarn.resourcemanager"
YARN = {"spark.master": "yarn"}
HA = {f"{MANAGER}.ha.enabled": "true", f"{MANAGER}.ha.rm-ids": "a, b"}


@pytest.fixture
def conf(tmp_path, monkeypatch):
    """Writes properties to the yarn-site.xml of HADOOP_CONF_DIR."""
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)

    def write(properties):
        rows = "".join(
            f"<property><name>{name}</name><value>{value}</value></property>"
            for name, value in properties.items()
        )
        (tmp_path / "yarn-site.xml").write_text(f"<configuration>{rows}</configuration>")

    return write


@pytest.fixture
def places():
    """Addresses of a port that listens and of one that does not."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        yield tuple(f"127.0.0.1:{one.getsockname()[1]}" for one in (server, free))


ADDRESSES = [  # as yarn-default.xml documents them
    ({}, ["0.0.0.0:8032"]),
    ({f"{MANAGER}.hostname": "rm"}, ["rm:8032"]),
    ({f"{MANAGER}.hostname": "rm", f"{MANAGER}.address": "other:9"}, ["other:9"]),
    (
        HA | {f"{MANAGER}.hostname.a": "one", f"{MANAGER}.address.b": "two:9"},
        ["one:8032", "two:9"],
    ),
]


@pytest.mark.parametrize("properties, places", ADDRESSES, ids=str)
def test_addresses_are_those_of_hadoop(properties, places):
    assert resource_managers(properties) == places


def test_the_first_folder_has_a_file_and_settings_of_spark_win(tmp_path, conf):
    conf({"a": "file", "b": "file"})
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "yarn-site.xml").write_text("<configuration/>")
    folders = [tmp_path / "none", tmp_path, tmp_path / "later"]
    assert hadoop_properties(folders, YARN | {"spark.hadoop.b": "spark"}) == {
        "a": "file",
        "b": "spark",
    }


def test_a_manager_that_listens_is_left_to_spark(conf, places, tmp_path):
    conf(HA | {f"{MANAGER}.address.a": places[1], f"{MANAGER}.address.b": places[0]})
    check_yarn(YARN, tmp_path / "conf")


LEFT = {
    "another master": ({"spark.master": "local[2]"}, {}),
    "a proxy": (YARN | {"spark.hadoop.hadoop.rpc.socket.factory.class.default": "Socks"}, {}),
    "an unknown variable": (YARN, {f"{MANAGER}.address": "${none}:8032"}),
}


@pytest.mark.parametrize("settings, properties", LEFT.values(), ids=LEFT)
def test_what_only_the_jvm_knows_is_left_to_spark(settings, properties, conf, tmp_path):
    conf({f"{MANAGER}.address": "127.0.0.1:1"} | properties)
    check_yarn(settings, tmp_path / "conf")


def test_managers_that_do_not_listen_are_named(conf, places, tmp_path):
    conf({f"{MANAGER}.address": places[1]})
    with pytest.raises(UnsupportedError, match=f"ResourceManager that .* got {places[1]}: "):
        check_yarn(YARN, tmp_path / "conf")


def test_a_session_does_not_wait_for_yarn_that_is_not_there(conf, monkeypatch):
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setattr("sparkdl.spark.session.SparkContext._active_spark_context", None)
    conf({f"{MANAGER}.address": "127.0.0.1:1"})
    with pytest.raises(UnsupportedError, match=r"127\.0\.0\.1:1"), session("yarn"):
        pass
