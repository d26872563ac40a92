"""Jars are downloaded once and verified; a missing one gives a clear error."""

import hashlib

import pytest

from tests.cluster.jars import Unavailable, fetched
from tests.cluster.required import or_skip

DIGEST = hashlib.sha256(b"jar").hexdigest()


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A folder with org/one.jar that replaces Maven Central."""
    monkeypatch.setenv("SPARKDL_MAVEN", tmp_path.joinpath("maven").as_uri())
    (tmp_path / "maven/org").mkdir(parents=True)
    (tmp_path / "maven/org/one.jar").write_bytes(b"jar")
    return tmp_path / "maven"


def test_a_jar_is_fetched_once(repository, tmp_path):
    place = fetched("org/one.jar", DIGEST, tmp_path / "cache")
    (repository / "org/one.jar").unlink()
    assert fetched("org/one.jar", DIGEST, tmp_path / "cache") == place
    assert place.read_bytes() == b"jar"


def test_a_jar_that_is_another_is_refused(repository, tmp_path):
    with pytest.raises(Unavailable, match=r"one must have SHA-256 00, got 0163f1"):
        fetched("org/one.jar", "00", tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_a_jar_that_is_not_there_is_missed(repository, tmp_path):
    with pytest.raises(Unavailable, match="two.jar must be there to fetch, got .*SPARKDL_MAVEN"):
        fetched("org/two.jar", DIGEST, tmp_path / "cache")


def missing():
    raise Unavailable("no Java")


def test_what_was_promised_fails_and_all_else_skips(monkeypatch):
    monkeypatch.setenv("SPARKDL_REQUIRE", "hdfs,yarn")
    with pytest.raises(Unavailable):
        or_skip("yarn", missing)
    with pytest.raises(pytest.skip.Exception, match="no gpu: no Java"):
        or_skip("gpu", missing)
