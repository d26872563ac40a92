"""sparkdl submit composes valid spark-submit commands; tests/cluster runs them."""

import re
import shlex
import sys
from itertools import pairwise

import pytest
from fsspec.implementations.local import LocalFileSystem

from sparkdl import cli

DAEMON = "spark.python.daemon.module=sparkdl.spark.python_daemon"
TRAIN = ["train", "--conf", "runs/small.yaml"]


@pytest.fixture
def submit(tmp_path, monkeypatch, capsys):
    """Runs sparkdl submit in a folder with an archive and a run; returns (code, parts, errors)."""
    for name in ("dist/sparkdl-0.1.0-env.tar.gz", "runs/small.yaml", "runs/yarn.conf"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "runs/small.yaml").write_text("output: hdfs:///models/small\n")
    (tmp_path / "latin.conf").write_bytes(b"spark.app.name caf\xe9\n")
    monkeypatch.chdir(tmp_path)

    def run(*arguments, what=TRAIN):
        code = cli.main(["submit", *arguments, "--", *what])
        printed = capsys.readouterr()
        return code, shlex.split(printed.out.replace("\\\n", " ")), printed.err

    return run


def options(parts):
    """Returns {option: values} of a command."""
    found = {}
    for name, value in pairwise(parts):
        if name.startswith("--"):
            found.setdefault(name, []).append(value)
    return found


def test_the_driver_here_has_this_python_and_executors_that_of_the_archive(submit):
    code, parts, _ = submit("--master", "yarn")
    assert code == 0
    assert parts[0] == "spark-submit"
    given = options(parts[: parts.index("train")])
    assert given["--archives"] == ["dist/sparkdl-0.1.0-env.tar.gz#environment"]
    assert given["--deploy-mode"] == ["client"]
    assert set(given["--conf"]) == {
        "spark.pyspark.python=./environment/bin/python",
        DAEMON,
        f"spark.pyspark.driver.python={sys.executable}",
    }
    assert parts[-4].endswith("sparkdl/__main__.py")
    assert parts[-3:] == TRAIN


def test_files_go_along_with_a_driver_elsewhere(submit, tmp_path):
    (tmp_path / "net.prototxt").touch()
    modes = "--master", "yarn", "--deploy-mode", "cluster", "--files", "net.prototxt"
    _, parts, _ = submit(*modes)
    given = options(parts[: parts.index("train")])
    assert given["--files"] == ["net.prototxt,runs/small.yaml"]
    assert given["--conf"] == ["spark.pyspark.python=./environment/bin/python", DAEMON]
    assert parts[-3:] == ["train", "--conf", "small.yaml"]


def test_a_file_after_an_equals_sign_goes_along_too(submit):
    _, parts, _ = submit(*ELSEWHERE, what=["train", "--conf=runs/small.yaml"])
    assert options(parts[: parts.index("train")])["--files"] == ["runs/small.yaml"]
    assert parts[-2:] == ["train", "--conf=small.yaml"]


def test_what_is_given_holds_instead_of_properties(submit, tmp_path):
    text = "# a comment\nspark.master yarn\nspark.submit.deployMode=cluster\n\nspark.archives a#b\n"
    (tmp_path / "runs/yarn.conf").write_text(text)
    more = "--executors", "3", "--cores", "2", "--memory", "1g", "--set", "spark.ui.enabled=false"
    _, parts, _ = submit("--properties", "runs/yarn.conf", "--deploy-mode", "client", *more)
    given = options(parts[: parts.index("train")])
    assert (given["--master"], given["--deploy-mode"]) == (["yarn"], ["client"])
    assert given["--properties-file"] == ["runs/yarn.conf"]
    assert "--load-spark-defaults" in parts
    assert "--archives" not in given
    assert {"spark.executor.instances=3", "spark.executor.cores=2"} < set(given["--conf"])
    assert {"spark.executor.memory=1g", "spark.ui.enabled=false"} < set(given["--conf"])
    _, parts, _ = submit("--properties", f"file://{tmp_path}/runs/yarn.conf")
    assert options(parts)["--properties-file"] == [f"{tmp_path}/runs/yarn.conf"]


def test_another_daemon_is_left_alone(submit):
    _, parts, _ = submit("--master", "yarn", "--set", "spark.python.daemon.module=mine")
    given = options(parts[: parts.index("train")])
    assert "spark.python.daemon.module=mine" in given["--conf"]
    assert DAEMON not in given["--conf"]


def test_no_daemon_loads_what_comes_by_py_files(submit, tmp_path):
    (tmp_path / "code.zip").touch()
    packages = "--set", "spark.archives=packages.tar.gz#environment"
    _, parts, _ = submit("--master", "yarn", "--py-files", "code.zip", *packages)
    given = options(parts[: parts.index("train")])
    assert "spark.pyspark.python=./environment/bin/python" in given["--conf"]
    assert DAEMON not in given["--conf"]


def test_a_zip_is_enough_where_the_packages_are(submit, tmp_path):
    (tmp_path / "code.zip").touch()
    _, parts, _ = submit("--master", "spark://host:7077", "--py-files", "code.zip")
    given = options(parts[: parts.index("train")])
    assert given["--py-files"] == ["code.zip"]
    assert "--archives" not in given and "--conf" not in given


STANDALONE = "--master", "spark://host:7077"


@pytest.mark.parametrize("cores", [("--cores", "2"), ("--set", "spark.executor.cores=2")])
def test_executors_of_a_standalone_cluster_are_their_cores(submit, cores):
    _, parts, _ = submit(*STANDALONE, "--executors", "3", *cores)
    conf = options(parts[: parts.index("train")])["--conf"]
    assert {"spark.cores.max=6", "spark.executor.cores=2"} < set(conf)
    assert not any("instances" in each for each in conf)


def test_an_option_stands_on_each_line(submit, capsys):
    cli.main(["submit", "--master", "yarn", "--cores", "2", "--", *TRAIN])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "spark-submit \\"
    assert all(re.fullmatch(r"  --\S+ \S+ \\", line) for line in lines[1:-1])
    assert lines[-1].endswith("__main__.py train --conf runs/small.yaml")


MISTAKES = [
    ([], "a master is missing; give --master"),
    (["--master", "yarn", "--archive", "none.tar.gz"], "none.tar.gz: there is no such file"),
    (["--master", "yarn", "--properties", "none.conf"], "none.conf: there is no such file"),
    (["--properties", "latin.conf"], "latin.conf: must be text in UTF-8, "),
    (["--properties", "hdfs://nn/a.conf"], "hdfs://nn/a.conf: must be a local path, for spark-sub"),
    (["--master", "yarn", "--set", "spark.ui.enabled"], "--set must be KEY=VALUE"),
    (["--master", "yarn", "--executors", "0"], "--executors must be an integer >= 1, got 0"),
    (["--master", "yarn", "--cores", "-1"], "--cores must be an integer >= 1, got -1"),
    (
        ["--master", "yarn", "--archive", "runs/yarn.conf", "--py-files", "runs/yarn.conf"],
        "--archive must be left out with --py-files, got 'runs/yarn.conf': executors ",
    ),
    *(
        (
            ["--master", "yarn", "--set", f"{key}=local", option, value],
            f"--set {key} must be left out with {option}, got 'local' and {got}",
        )
        for option, value, key, got in (
            ("--master", "yarn", "spark.master", "'yarn'"),
            ("--deploy-mode", "client", "spark.submit.deployMode", "'client'"),
            ("--archive", "runs/yarn.conf", "spark.archives", "'runs/yarn.conf'"),
            ("--executors", "4", "spark.executor.instances", "4"),
            ("--memory", "2g", "spark.executor.memory", "'2g'"),
        )
    ),
    ([*STANDALONE, "--executors", "2"], "--cores must be given with --executors"),
    (
        [*STANDALONE, "--executors", "4", "--cores", "2", "--set", "spark.cores.max=2"],
        "--set spark.cores.max must be left out with --executors and a standalone master, got '2' "
        "and 4 executors with 2 cores each",
    ),
    *(
        (
            [*STANDALONE, "--executors", "2", "--set", f"spark.executor.cores={cores}"],
            f"spark.executor.cores must be a positive integer, got '{cores}'; give --cores",
        )
        for cores in ("two", "0")
    ),
    ([*STANDALONE, "--deploy-mode", "cluster"], "--deploy-mode must be client with a standalone"),
    (
        ["--set", "spark.submit.deployMode=cluster", "--set", "spark.master=spark://host:7077"],
        "got cluster and spark://host:7077",
    ),
]


@pytest.mark.parametrize("arguments, sentence", MISTAKES)
def test_a_mistake_is_one_sentence(submit, arguments, sentence):
    code, _, err = submit(*arguments)
    assert code == 2
    assert err.startswith("sparkdl submit: ") and sentence in err


def test_properties_that_may_not_be_read_are_one_sentence(submit, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(LocalFileSystem, "_open", refuse)
    code, _, err = submit("--master", "yarn", "--properties", "runs/yarn.conf")
    assert code == 2
    assert err == "sparkdl submit: runs/yarn.conf: cannot be opened: Permission denied\n"


def test_a_missing_archive_says_how_it_is_made(submit, tmp_path):
    (tmp_path / "dist/sparkdl-0.1.0-env.tar.gz").unlink()
    assert "python build.py package makes it" in submit("--master", "yarn")[2]


ELSEWHERE = "--master", "yarn", "--deploy-mode", "cluster"


def test_a_driver_elsewhere_writes_to_no_disk_of_its_own(submit):
    what = [*TRAIN, "--set", "output=lenet-model"]
    code, parts, err = submit(*ELSEWHERE, what=what)
    assert code == 2 and not parts
    assert "output must be a path that outlives the driver's container" in err
    assert submit("--master", "yarn", what=what)[0] == 0  # a driver here writes to this disk


def test_an_absolute_path_of_a_driver_elsewhere_may_be_mounted(submit):
    code, parts, err = submit(*ELSEWHERE, what=[*TRAIN, "--set", "output=/mnt/model"])
    assert code == 0 and parts[-1] == "output=/mnt/model"
    assert err.startswith("sparkdl submit: output /mnt/model is lost with the driver's container")


def test_a_driver_elsewhere_finds_no_data_of_this_machine(submit, tmp_path):
    """The job failed on the cluster."""
    (tmp_path / "d.csv").touch()
    what = ["evaluate", "--model", "hdfs:///m", "--data", "{type: Csv, path: d.csv}"]
    code, parts, err = submit(*ELSEWHERE, what=what)
    assert code == 2 and not parts
    assert "--data must be at a path that all machines reach" in err
    assert submit("--master", "yarn", what=what)[0] == 0
    code, parts, err = submit(*ELSEWHERE, "--files", "d.csv", what=what)
    assert code == 0 and parts[-1] == what[-1]
    assert "d.csv is read from the driver's container" in err


def test_a_command_that_is_wrong_is_refused_before_it_is_sent(submit):
    with pytest.raises(SystemExit):
        submit("--master", "yarn", what=["trian"])
