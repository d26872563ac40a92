"""Local files go along with a driver on the cluster; folders, and paths Spark would split, do not.

pyspark's own spark-submit splits the value of --files at commas (Utils.stringToSeq).
"""

import shlex

import pytest

from sparkdl import cli
from sparkdl.commands.driver_inputs import check_folders, check_names, pack_local_files
from sparkdl.errors import ConfigError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with some files and a model."""
    monkeypatch.chdir(tmp_path)
    for name in ("runs/small.yaml", "a.caffemodel", "more/b.caffemodel", "small.yaml", "x,y.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "model").mkdir()
    return tmp_path


def test_files_are_sent_by_name(folder):
    what = ["train", "--conf", "runs/small.yaml", "--set", "epochs=3", "--resume", "hdfs:///c"]
    assert pack_local_files(what) == (
        ["train", "--conf", "small.yaml", "--set", "epochs=3", "--resume", "hdfs:///c"],
        ["runs/small.yaml"],
    )


@pytest.mark.parametrize("start", ["file://", "file:", "FILE://localhost"])
def test_a_file_by_its_uri_is_sent(folder, start):
    uri = f"{start}{folder}/runs/small.yaml"
    assert pack_local_files([f"--conf={uri}"]) == (["--conf=small.yaml"], [uri])


def test_a_file_that_all_machines_have_is_not_sent(folder):
    word = f"local://{folder}/small.yaml"
    assert pack_local_files([word]) == ([word], [])


def test_several_files_in_one_value_are_sent(folder):
    words, sent = pack_local_files(["-weights", "a.caffemodel,more/b.caffemodel"], ["small.yaml"])
    assert words == ["-weights", "a.caffemodel,b.caffemodel"]
    assert sent == ["small.yaml", "a.caffemodel", "more/b.caffemodel"]


def test_a_long_value_is_no_file(folder):
    word = "{type: Digits}" + " " * 5000
    assert pack_local_files([word]) == ([word], [])


def test_a_file_is_sent_once(folder):
    assert pack_local_files(["small.yaml", "small.yaml"], ["small.yaml"])[1] == ["small.yaml"]


REFUSED = {
    "two of one name": (
        ["small.yaml", "runs/small.yaml", "a.caffemodel"],
        "files sent along need different names, got ['small.yaml'] twice",
    ),
    "a comma": (["x,y.yaml"], "which mean something to Spark, got 'x,y.yaml'; rename it"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_names_that_would_arrive_otherwise_are_refused(folder, name):
    paths, text = REFUSED[name]
    with pytest.raises(ConfigError) as error:
        check_names(paths)
    assert text in str(error.value)


def test_lists_patterns_and_aliases_of_spark_may_be_given(folder):
    check_names(["small.yaml,a.caffemodel", "*.yaml", "small.yaml#net.yaml", "hdfs:///a,b"])


def notes(command):
    return check_folders(cli.parser().parse_args(shlex.split(command)))


@pytest.mark.parametrize(
    "command",
    [
        "evaluate --model model --data Digits",
        "train --conf small.yaml --resume model",
        "report model --output /r.html",
    ],
)
def test_a_folder_is_refused_as_it_is_not_sent(folder, command):
    with pytest.raises(ConfigError, match="--model must|--resume must|FOLDER must") as error:
        notes(command)
    assert "got the local folder 'model'; copy it there" in str(error.value)


def test_a_folder_that_may_be_mounted_is_noted(folder):
    text = f"--model {folder}/model is not sent along: machines must mount it"
    assert notes(f"evaluate --model {folder}/model --data Digits") == [text]
    for command in ("evaluate --model hdfs:///m --data Digits", "train --conf small.yaml"):
        assert notes(command) == []


def test_submit_checks_both(folder, capsys):
    (folder / "code.zip").touch()
    elsewhere = "submit --master yarn --deploy-mode cluster --py-files code.zip"
    for command, text in (
        ("evaluate --model model --data Digits", "--model must be a path that the driver's"),
        ("summary --conf x,y.yaml", "which mean something to Spark"),
    ):
        assert cli.main([*elsewhere.split(), "--", *command.split()]) == 2
        assert text in capsys.readouterr().err
    given = "submit --master yarn --py-files code.zip --files x,y.yaml -- summary --conf small.yaml"
    assert cli.main(given.split()) == 2
