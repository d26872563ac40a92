"""Calls to the NameNode: refusals are raised with its message."""

import pytest

from tests.cluster import rpc


def test_numbers_and_texts_are_those_of_protobuf():
    assert rpc.message({1: 300, 2: "testing"}) == b"\x08\xac\x02\x12\x07testing"  # its own examples
    assert rpc.message({3: {1: 150}}) == b"\x1a\x03\x08\x96\x01"


def test_what_the_namenode_refuses_is_raised(hdfs):
    said = "(?s)setQuota was refused: .*FileNotFoundException.*: /missing"
    with pytest.raises(RuntimeError, match=said):
        hdfs.set_quota("/missing", names=1)
