"""Services of a lane end with it, once, in the opposite order of their start."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from tests.support import lane_end
from tests.support.lane_end import end_lane, until_lane_ends

SPARK, CONNECT = "tests/spark/test_network.py", "tests/spark/connect/test_connect.py"


@pytest.fixture(autouse=True)
def jvm(monkeypatch):
    """The JVM of these tests' own process goes on."""
    monkeypatch.setattr(lane_end, "end_jvm", lambda: None)
    monkeypatch.setattr(lane_end, "_services", lane_end.ExitStack())


def item(path):
    return SimpleNamespace(nodeid=f"{path}::test_something")


@contextmanager
def service(name, ended):
    yield name
    ended.append(name)


@pytest.mark.parametrize(
    "own, following, left",
    [
        (SPARK, "tests/test_errors.py", []),
        (SPARK, CONNECT, ["server", "client"]),
        (SPARK, None, ["server", "client"]),
        ("tests/test_errors.py", "tests/test_cli.py", ["server", "client"]),
    ],
)
def test_they_end_where_the_next_test_is_of_another_lane(own, following, left):
    ended = []
    with until_lane_ends(service("server", ended)) as server:
        with until_lane_ends(service("client", ended)) as client:
            end_lane(item(own), following and item(following))
            assert ended == [name for name in (client, server) if name not in left]
    assert ended == ["client", "server"]
