"""A user without an entry in the user database gets a Spark user name and a package folder."""

import os

import pytest

from sparkdl.spark.nameless_user import is_nameless, name_user, package_folder


@pytest.fixture
def nameless(monkeypatch, tmp_path):
    def refuse(uid):
        raise KeyError(uid)

    monkeypatch.setattr("pwd.getpwuid", refuse)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("SPARK_USER", raising=False)


def test_a_nameless_user_gets_a_name_that_none_has(nameless, monkeypatch):
    assert is_nameless()
    name_user()
    assert os.environ["SPARK_USER"] == f"uid-{os.getuid()}"
    monkeypatch.setenv("SPARK_USER", "mine")
    name_user()
    assert os.environ["SPARK_USER"] == "mine"


def test_a_user_with_a_name_is_left_alone(monkeypatch):
    monkeypatch.delenv("SPARK_USER", raising=False)
    assert not is_nameless()
    name_user()
    assert "SPARK_USER" not in os.environ


def test_packages_have_a_folder_that_is_there(nameless, tmp_path):
    path = tmp_path / f"sparkdl-{os.getuid()}-ivy"
    assert package_folder({}) == {"spark.jars.ivy": str(path)}
    assert path.is_dir() and path.stat().st_mode & 0o777 == 0o700
    assert package_folder({"spark.jars.ivy": "/shared"}) == {}


def test_a_folder_that_others_can_change_is_not_taken(nameless, tmp_path):
    path = tmp_path / f"sparkdl-{os.getuid()}-ivy"
    path.mkdir()
    path.chmod(0o777)
    assert package_folder({}) == {}
