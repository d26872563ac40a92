"""Fixtures of the cluster tests: the environment that build.py package makes, here and on HDFS."""

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import shutil
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from sparkdl.data.hadoop import base

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".pytest_cache" / "environments"  # kept for later runs


@pytest.fixture(scope="session")
def packaged(tmp_path_factory):
    """(archive, environment): the file made by build.py package, and the unpacked environment."""
    spec = importlib.util.spec_from_file_location("sparkdl_build", ROOT / "build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    build.DIST, build.VENV = tmp_path_factory.mktemp("dist"), Path(sys.prefix)
    build.GZIP_LEVEL = 1  # a tenth larger, but made with 5 s of CPU less
    build.tempfile = SimpleNamespace(TemporaryDirectory=lambda: environment(build))
    wheel = build.build_wheel()
    archive = build.build_archive(wheel, with_pyspark=False, python_prefix=None)
    return archive, environment_folder(build) / "environment"


@pytest.fixture(scope="session")
def archive(packaged):
    """The file made by build.py package."""
    return packaged[0]


@contextlib.contextmanager
def environment(build):
    """A folder in which pip finds the locked packages of the test environment.

    sparkdl's own wheel is left out, because its version does not identify its contents.
    """
    folder = environment_folder(build)
    KEPT.mkdir(parents=True, exist_ok=True)
    with open(KEPT / "lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for old in KEPT.iterdir():
            if old.is_dir() and old != folder:
                shutil.rmtree(old)
        if not (folder / "whole").exists():
            shutil.rmtree(folder, ignore_errors=True)
            link_packages(build, folder / "environment")
        for own in folder.glob("environment/lib/python*/site-packages/sparkdl*"):
            shutil.rmtree(own)
        yield folder
        (folder / "whole").touch()


def link_packages(build, environment):
    """Hard-links the package files of .venv, except programs; installing takes pip 20 s of CPU."""
    for name, _ in build.pins(build.requirements_without(build.ON_THE_CLUSTER)):
        with contextlib.suppress(metadata.PackageNotFoundError):  # a package for another platform
            for file in metadata.files(name):
                link(metadata.distribution(name).locate_file(file), environment)


def link(file, environment):
    place = Path(os.path.normpath(file))
    if place.is_relative_to(sys.prefix):
        target = environment / place.relative_to(sys.prefix)
        if target.parts[-2] != "bin" and place.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(place, target)


def environment_folder(build):
    parts = build.LOCK.read_bytes(), build.PROJECT.read_bytes(), sys.version, sys.prefix
    return KEPT / hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


@pytest.fixture(scope="session")
def shared_archive(hdfs, archive):
    """The archive on HDFS; a node unpacks it once, and README's commands may have put it there."""
    hdfs.make("/mnist")
    if archive.name not in hdfs.names("/mnist"):
        hdfs.upload(archive, f"/mnist/{archive.name}")
    return f"{hdfs.uri}/mnist/{archive.name}"


@pytest.fixture
def as_user(hdfs, monkeypatch):
    """HDFS, with HADOOP_CONF_DIR set to its configuration as for a user."""
    monkeypatch.setenv("HADOOP_CONF_DIR", str(hdfs.conf))
    monkeypatch.setattr(base, "_clients", {})
    return hdfs


@pytest.fixture(params=["hdfs", "webhdfs"])
def root(request, as_user):
    """A folder over either protocol; the NameNode is the configured one, or named in the URI."""
    cluster = {"hdfs": "hdfs:", "webhdfs": f"webhdfs://{as_user.web.removeprefix('http://')}"}
    return f"{cluster[request.param]}/{request.node.name.partition('[')[0]}"
