"""A name service with one of two NameNodes down: clients find the other, over either protocol.

The one that answers is the tests' NameNode, which really has no partner.
"""

import pytest

from sparkdl.data import files
from sparkdl.data.hadoop import base
from tests.cluster import settings
from tests.data.hadoop.folders import configured

DOWN = f"{settings.HOST}:1"


@pytest.fixture(params=[0, 1], ids=["the first is down", "the second is down"])
def service(request, hdfs, tmp_path, monkeypatch):
    """The name service, as it stands in URIs."""
    rpc, web = hdfs.uri.removeprefix("hdfs://"), hdfs.web.removeprefix("http://")
    nodes = [(DOWN, DOWN), (rpc, web)][:: -1 if request.param else 1]
    properties = {"dfs.nameservices": "blue", "dfs.ha.namenodes.blue": "nn0, nn1"}
    for number, (at, web) in enumerate(nodes):
        properties[f"dfs.namenode.rpc-address.blue.nn{number}"] = at
        properties[f"dfs.namenode.http-address.blue.nn{number}"] = web
    configured(tmp_path, monkeypatch, core={"fs.defaultFS": "hdfs://blue"}, hdfs=properties)
    monkeypatch.setattr(base, "_clients", {})
    return "blue"


@pytest.mark.parametrize("root", ["hdfs://blue", "hdfs:", "webhdfs://blue", "webhdfs:"])
def test_the_one_that_answers_is_asked(service, hdfs, root):
    path = f"{root}/service/file"
    files.write(path, b"some")
    assert hdfs.read("/service/file") == b"some"
    assert files.list(f"{root}/service") == ["file"]
    with files.open(path) as file:
        assert file.read() == b"some"
    files.remove(path)
    assert not files.exists(path)
