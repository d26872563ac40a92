"""Hadoop's configuration files: variables, final properties, name services, their folder."""

import pwd

import pytest

from sparkdl.data.hadoop import configuration
from sparkdl.data.hadoop.configuration import Configuration
from sparkdl.errors import DataError
from tests.data.hadoop.folders import SERVICE, configured, write_xml


@pytest.mark.parametrize(
    "variable, below", [("HADOOP_CONF_DIR", ""), ("HADOOP_HOME", "etc/hadoop")]
)
def test_it_lies_where_hadoop_looks(tmp_path, monkeypatch, variable, below):
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    write_xml(tmp_path / below / "core-site.xml", {"fs.defaultFS": "hdfs://nn:1"})
    monkeypatch.setenv(variable, str(tmp_path))
    assert Configuration.read().properties == {"fs.defaultFS": "hdfs://nn:1"}


def test_a_container_of_yarn_has_that_of_who_submitted(tmp_path, monkeypatch):
    for variable in ("HADOOP_CONF_DIR", "HADOOP_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PWD", str(tmp_path))
    assert Configuration.read() == Configuration(folder=None, properties={})
    folder = tmp_path / "__spark_conf__/__hadoop_conf__"
    write_xml(folder / "core-site.xml", {"fs.defaultFS": "hdfs://nn:1"})
    assert Configuration.read().folder == folder


def test_a_folder_that_is_not_there_is_named(monkeypatch):
    monkeypatch.delenv("HADOOP_HOME", raising=False)
    monkeypatch.setenv("HADOOP_CONF_DIR", "/none")
    with pytest.raises(DataError, match="HADOOP_CONF_DIR must be a folder on this host, got /none"):
        Configuration.read()


def test_the_later_file_wins_unless_a_property_is_final(tmp_path, monkeypatch):
    final = {"b": ("1", "<final>true</final>"), "a": "1"}
    conf = configured(tmp_path, monkeypatch, core=final, hdfs={"a": "2", "b": "2"})
    assert conf.properties == {"a": "2", "b": "1"}


def test_variables_are_filled_in(tmp_path, monkeypatch):
    monkeypatch.setenv("HADOOP_USER_NAME", "ann")
    monkeypatch.setenv("NAMENODE", "nn")
    values = {
        "a": "${b}:${port}",
        "b": "${env.NAMENODE}",
        "port": "${env.NO_SUCH:-8020}",
        "home": "/user/${user.name}",
        "left": "${unknown}",
        "loop": "${loop}",
    }
    found = configured(tmp_path, monkeypatch, core=values).properties
    assert found["a"] == "nn:8020"
    assert found["home"] == "/user/ann"
    assert found["left"] == "${unknown}"
    assert found["loop"] == "${loop}"


def test_a_user_without_a_name_can_read_it(tmp_path, monkeypatch):
    """As in containers with an arbitrary uid; only a cluster without Kerberos asks for a name."""
    monkeypatch.delenv("HADOOP_USER_NAME", raising=False)
    monkeypatch.setattr(configuration, "getuser", lambda: pwd.getpwuid(2**31 - 7))
    values = {"a": "${b}", "b": "1", "home": "/user/${user.name}"}
    found = configured(tmp_path, monkeypatch, core=values).properties
    assert found == {"a": "1", "b": "1", "home": "/user/${user.name}"}
    with pytest.raises(DataError, match="set HADOOP_USER_NAME"):
        configuration.user()


def include(path, other):
    """Makes a configuration file include another."""
    tag = f'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{other}"/>'
    path.write_text(path.read_text().replace("</conf", f"{tag}</conf"))


def test_files_may_include_others(tmp_path, monkeypatch):
    write_xml(tmp_path / "more/shared.xml", {"a": "1"})
    configured(tmp_path, monkeypatch, core={"b": "2"})
    for _ in range(2):  # a file that is included twice does not include itself
        include(tmp_path / "core-site.xml", "more/shared.xml")
    assert Configuration.read().properties == {"a": "1", "b": "2"}


def test_a_file_that_includes_itself_is_named(tmp_path, monkeypatch):
    configured(tmp_path, monkeypatch, core={"b": "2"})
    write_xml(tmp_path / "more/shared.xml", {"a": "1"})
    include(tmp_path / "core-site.xml", "more/shared.xml")
    include(tmp_path / "more/shared.xml", "../core-site.xml")
    with pytest.raises(DataError, match="core-site.xml: must not include itself, not even by way"):
        Configuration.read()


def test_a_damaged_file_is_named(tmp_path, monkeypatch):
    configured(tmp_path, monkeypatch, core={"a": "1"})
    (tmp_path / "core-site.xml").write_text("<configuration><property>")
    with pytest.raises(DataError, match="core-site.xml: cannot be read as a configuration of Hado"):
        Configuration.read()


AUTHORITIES = [
    # fs.defaultFS, authority in the URI, authority for native RPC, those of the web servers
    ("hdfs://nn:9000", "", "nn:9000", ["nn:9870"]),
    ("hdfs://nn", "", "nn:8020", ["nn:9870"]),
    ("hdfs://nn:9000", "other", "other:8020", ["other:9870"]),
    ("hdfs://nn:9000", "other:7", "other:7", ["other:7"]),
    ("hdfs://Blue", "", "Blue", ["one:9870", "two:9871"]),
    ("file:///", "Blue", "Blue", ["one:9870", "two:9871"]),
]


@pytest.mark.parametrize("default, given, rpc, web", AUTHORITIES)
def test_whom_a_uri_means(tmp_path, monkeypatch, default, given, rpc, web):
    conf = configured(tmp_path, monkeypatch, core={"fs.defaultFS": default}, hdfs=SERVICE)
    assert conf.rpc_authority(given) == rpc
    assert conf.web_addresses(given) == web


def test_the_web_server_of_a_lone_namenode_is_configured(tmp_path, monkeypatch):
    hdfs = {"dfs.namenode.http-address": "nn:1", "dfs.namenode.https-address": "nn:2"}
    conf = configured(tmp_path, monkeypatch, core={"fs.defaultFS": "hdfs://nn:9000"}, hdfs=hdfs)
    assert conf.web_addresses("") == ["nn:1"]
    assert conf.web_addresses("", "https") == ["nn:2"]


@pytest.mark.parametrize("default", [{}, {"fs.defaultFS": "file:///"}])
def test_a_uri_without_a_namenode_needs_a_default(tmp_path, monkeypatch, default):
    conf = configured(tmp_path, monkeypatch, core=default)
    with pytest.raises(DataError, match=r"hdfs:///: must name a NameNode.*set HADOOP_CONF_DIR"):
        conf.rpc_authority("")


def test_a_missing_web_address_is_named(tmp_path, monkeypatch):
    conf = configured(tmp_path, monkeypatch, hdfs=SERVICE)
    with pytest.raises(DataError, match=r"must have dfs.namenode.https-address.Blue.nn1.*hdfs-sit"):
        conf.web_addresses("Blue", "https")
