"""The error about another distribution with our import name; other distributions are ignored."""

import sys
import warnings

import pytest

from sparkdl.conflict import warn_if_shadowed


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Puts the metadata of a distribution on the path, as if it were installed."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])

    def add(name, version):
        folder = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")

    return add


def test_the_other_sparkdl_is_named_with_the_cure(install):
    install("sparkdl-hadoop", "0.1.0")
    install("sparkdl", "0.2.2")
    with pytest.warns(UserWarning, match=r"got sparkdl 0\.2\.2 beside it; pip uninstall sparkdl"):
        warn_if_shadowed()


def test_alone_it_is_silent(install):
    install("sparkdl-hadoop", "0.1.0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_shadowed()


def test_without_any_metadata_it_is_silent(install):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_shadowed()


def test_a_path_with_a_zip_and_a_folder_that_is_not_there_is_silent(install, monkeypatch, tmp_path):
    (tmp_path / "a.zip").write_bytes(b"")
    monkeypatch.setattr(sys, "path", ["", str(tmp_path / "a.zip"), str(tmp_path / "nowhere")])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_shadowed()
