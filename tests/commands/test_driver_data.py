"""Local data that a driver on the cluster would not find is refused before submission."""

import shlex

import pytest

from sparkdl import cli
from sparkdl.commands.driver_data import check_data, names_sent
from sparkdl.errors import ConfigError

RUN = "output: hdfs:///m\ndata:\n  train: {type: Csv, path: hdfs:///d}\n"


@pytest.fixture
def check(tmp_path, monkeypatch):
    """Runs check_data for a command in a folder with data, and a run whose data is on HDFS."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits_lmdb").mkdir()
    for name in ("d.csv", "x.idx", "mean.npy"):
        (tmp_path / name).touch()
    (tmp_path / "run.yaml").write_text(RUN)

    def run(command, sent=()):
        return check_data(cli.parser().parse_args(shlex.split(command)), sent)

    return run


USE = "evaluate --model hdfs:///m --data"
TRAIN = "train --conf run.yaml --set"
SHARED = "copy it there, or give an absolute path that all machines mount"
REFUSED = {
    "a file": (f"{USE} '{{type: Csv, path: d.csv}}'", "--data", "d.csv", SHARED),
    "a folder": (f"{USE} '{{type: LMDB, path: ./digits_lmdb}}'", "--data", "./digits_lmdb", SHARED),
    "labels": (
        f"{USE} '{{type: Idx, path: hdfs:///x, label_path: x.idx}}'",
        *("--data", "x.idx", SHARED),
    ),
    "one of several": (
        f"{USE} '{{type: LMDB, path: [hdfs:///a, x.idx]}}'",
        "--data",
        "x.idx",
        SHARED,
    ),
    "data of a run": (f"{TRAIN} data.train.path=d.csv", "data.train", "d.csv", SHARED),
    "validation data": (
        f"{TRAIN} 'data.validation={{type: LMDB, path: digits_lmdb}}'",
        *("data.validation", "digits_lmdb", SHARED),
    ),
    "a mean": (
        f"{TRAIN} 'data.train.transforms=[{{type: Scale}}, {{type: MeanImage, path: mean.npy}}]'",
        *("data.train.transforms", "mean.npy", "copy it there, or send it with --files mean.npy"),
    ),
    "records to convert": (
        "convert --data '{type: Csv, path: d.csv}' --output hdfs:///o",
        *("--data", "d.csv", "copy it there, or send it with --files d.csv"),
    ),
    "a folder to convert": (
        "convert --data '{type: Images, path: digits_lmdb}' --output hdfs:///o",
        *("--data", "digits_lmdb", SHARED),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_relative_path_of_this_machine_is_refused_with_a_cure(check, case):
    command, name, path, cure = REFUSED[case]
    with pytest.raises(ConfigError) as raised:
        check(command)
    must = (
        f"{name} must be at a path that all machines reach, such as hdfs:///..., got the local path"
    )
    assert str(raised.value) == f"{must} {path!r}, which is not sent along; {cure}"


NOTHING = [
    f"{TRAIN} epochs=3",
    f"{TRAIN} data.train.path=/nowhere/d.csv",
    f"{TRAIN} data.train.path=other.csv",  # the container's image may have it
    f"{TRAIN} data.train.path=local:///etc/passwd",
    f"{TRAIN} data.train.type=Csw",
    f"{TRAIN} data=d.csv",
    "train --conf none.yaml --set data.train.path=d.csv",
    "summary --conf run.yaml --set data.train.path=d.csv",
    f"{USE} Digits",
    f"{USE} '{{type: Parquet, path: hdfs:/d}}'",
    f"{USE} '{{type: Parquet, path: s3://bucket/d}}'",
    "report runs",
]


@pytest.mark.parametrize("command", NOTHING)
def test_data_that_the_cluster_may_have_is_left_alone(check, command):
    assert check(command) == []


def test_an_absolute_path_may_be_mounted(check, tmp_path):
    for path in (f"{tmp_path}/d.csv", f"file://{tmp_path}/d.csv"):
        note = f"data.train {path} is not sent along: machines must mount it"
        assert check(f"{TRAIN} data.train.path={path}") == [note]


def test_what_spark_places_in_the_container_is_read_there(check):
    sent = names_sent(
        ["more/d.csv,a", "b.npy#mean.npy"], {"spark.archives": "e.tgz#env,t.tgz#digits_lmdb"}
    )
    assert sent >= {"d.csv", "a", "mean.npy", "env", "digits_lmdb"}
    transforms = "'data.train.transforms=[{type: MeanImage, path: mean.npy}]'"
    assert check(f"{TRAIN} {transforms}", sent) == []
    assert check("convert --data '{type: Csv, path: d.csv}' --output hdfs:///o", sent) == []
    [note] = check(f"{TRAIN} data.train.path=d.csv", sent)
    assert note.startswith(
        "data.train d.csv is read from the driver's container, so executors must"
    )
