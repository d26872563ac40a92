"""The tests' HDFS stores files as blocks on two nodes, and fails on request."""

import urllib.error

import pytest


def test_files_are_kept(hdfs):
    hdfs.write("/kept/file", b"x" * 10_000)
    assert hdfs.read("/kept/file") == b"x" * 10_000
    assert hdfs.names("/kept") == ["file"]


def test_blocks_lie_on_both_nodes(hdfs):
    hdfs.write("/blocks/file", b"x" * 10_000, blocksize=4096)
    files = hdfs.block_files("/blocks/file")
    assert [file.stat().st_size for file in files] == [4096] * 4 + [10_000 - 8192] * 2


def test_safe_mode_refuses_changes(hdfs):
    hdfs.safe_mode(True)
    try:
        with pytest.raises(urllib.error.HTTPError) as refused:
            hdfs.write("/safe/file", b"x")
        refused.value.close()
    finally:
        hdfs.safe_mode(False)
    hdfs.write("/safe/file", b"x")


def test_a_datanode_is_killed_and_comes_back(hdfs):
    hdfs.write("/killed/file", b"x" * 10_000)
    hdfs.kill_datanode(0)
    hdfs.restart_datanode(0)
    assert hdfs.read("/killed/file") == b"x" * 10_000
