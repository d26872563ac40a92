"""A host whose own DataNode died keeps reading and writing, long before HDFS notices the loss."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.cluster.hdfs_over_hosts import HdfsOverHosts
from tests.cluster.required import or_skip
from tests.support.namespaces import two_hosts, why_not

REASON = why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
ROOT = Path(__file__).resolve().parents[2]
LIMIT = 120.0  # seconds, a fifth of the time after which HDFS notices
PROGRAM = """
import json, sys
from sparkdl.data import files
for what, path, content in json.loads(sys.argv[1]):
    if what == "write":
        files.write(path, content.encode())
    with files.open(path) as file:
        assert file.read() == content.encode(), path
"""


@pytest.fixture(scope="module")
def hosts():
    with two_hosts() as pair:
        yield pair


@pytest.fixture(scope="module")
def on_hosts(hosts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hdfs")
    running = or_skip("hdfs", lambda: HdfsOverHosts(folder / "hdfs", hosts).start())
    yield running
    running.stop()


def run_on_left(hdfs, what, path, content):
    """Reads or writes a file by a program on the left host; returns its log."""
    env = os.environ | {"HADOOP_CONF_DIR": str(hdfs.conf)}
    program = sys.executable, "-c", PROGRAM, json.dumps([[what, path, content]])
    done = hdfs.hosts[0].run(*program, check=False, timeout=LIMIT, cwd=ROOT, env=env)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def without_own_node(on_hosts):
    """HdfsOverHosts with a file /before, after the death of the left DataNode."""
    assert run_on_left(on_hosts, "write", "hdfs:///before", "before") == ""
    on_hosts.kill_datanode(0)
    return on_hosts


@pytest.mark.parametrize("scheme", ["hdfs", "webhdfs"])
def test_it_reads_from_the_other(scheme, without_own_node):
    assert run_on_left(without_own_node, "read", f"{scheme}:///before", "before") == ""


@pytest.mark.parametrize("scheme", ["hdfs", "webhdfs"])
def test_it_writes_to_the_other(scheme, without_own_node):
    said = run_on_left(without_own_node, "write", f"{scheme}:///after-{scheme}", f"by {scheme}")
    assert ("was written by WebHDFS: this host's own DataNode fails" in said) == (scheme == "hdfs")
    blocks = without_own_node.blocks_of(1).rglob("blk_*")
    assert f"by {scheme}".encode() in [block.read_bytes() for block in blocks]
