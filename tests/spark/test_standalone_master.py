"""URLs of standalone Spark: one listening master is enough; otherwise the error names all."""

import socket

import pytest

from sparkdl.errors import UnsupportedError
from sparkdl.spark.standalone_master import check_standalone_master


@pytest.fixture
def places():
    """Addresses of a port that listens and of one that does not."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        yield tuple(f"127.0.0.1:{one.getsockname()[1]}" for one in (server, free))


@pytest.mark.parametrize("url", ["spark://{0}", "spark://{1},{0}", "local[2]", "yarn", "locl"])
def test_a_master_that_listens_is_left_to_spark(url, places):
    check_standalone_master(url.format(*places))


@pytest.mark.parametrize(
    "url", ["spark://{1}", "spark://{1},{1}", "spark://127.0.0.1:no", "spark://127.0.0.1:99999999"]
)
def test_masters_where_nobody_listens_are_named(url, places):
    url = url.format(*places)
    with pytest.raises(
        UnsupportedError, match="master must be a standalone Spark master that accepts"
    ):
        check_standalone_master(url)
