"""Outputs that a driver would write into its own container are refused before submission."""

import shlex

import pytest

from sparkdl import cli
from sparkdl.commands.driver_outputs import check_outputs
from sparkdl.commands.submit import deploy_mode
from sparkdl.errors import ConfigError
from tests.support.pages import ROOT, commands, pages

LASTS = "output: hdfs:///m\n"


@pytest.fixture
def checked(tmp_path, monkeypatch):
    """Runs check_outputs for a command and the text of its YAML file."""
    monkeypatch.chdir(tmp_path)

    def check(command, run=LASTS):
        (tmp_path / "run.yaml").write_text(run)
        return check_outputs(cli.parser().parse_args(shlex.split(command)))

    return check


REFUSED = [
    ("train --conf run.yaml", "output: m", "output", "'m'; --set output=hdfs:///..., or --deploy"),
    ("train --conf run.yaml", "output: file:m", "output", "'file:m'; --set output=hdfs"),
    ("train --conf run.yaml --set output=m", LASTS, "output", "'m'"),
    ("train --conf none.yaml --set output=m", LASTS, "output", "'m'"),
    ("train --conf run.yaml", LASTS + "checkpoints: {path: c}", "checkpoints.path", "'c'"),
    ("train --conf run.yaml --set checkpoints.path=c", LASTS, "checkpoints.path", "'c'; --set"),
    ("train --conf run.yaml --report r.html", LASTS, "--report", "'r.html'; give an absolute"),
    ("train --conf run.yaml --log runs/a", LASTS, "--log", "'runs/a'; give an absolute path"),
    ("demo", LASTS, "--output", "'sparkdl-demo-model'; --output hdfs:///..., or --deploy-mode"),
    ("predict --model m --data Digits --output p", LASTS, "--output", "'p'"),
    ("features --model m --data Digits --layers a --output p", LASTS, "--output", "'p'"),
    ("convert --data Digits --mean m.npy", LASTS, "--mean", "'m.npy'; --mean hdfs:///..."),
    ("report runs", LASTS, "--output", "'report.html'; give an absolute path"),
    ("caffe -conf s -train -model m", LASTS, "-model", "'m'; -model hdfs:///..., or --deploy"),
    ("caffe -conf s -test -model m", LASTS, "-output", "'output'"),
    ("caffe -conf s -train -model hdfs:///m -output o", LASTS, "-output", "'o'"),
]


@pytest.mark.parametrize("command, run, name, end", REFUSED)
def test_a_relative_path_is_refused_with_a_cure(checked, command, run, name, end):
    with pytest.raises(ConfigError) as raised:
        checked(command, run)
    said = str(raised.value)
    assert said.startswith(f"{name} must be a path that outlives the driver's container")
    assert f"got {end}" in said and said.endswith("or --deploy-mode client")


NOTED = [
    ("train --conf run.yaml", "output: /mnt/m", 1),
    ("train --conf run.yaml", "output: file:///mnt/m\ncheckpoints: {path: 'FILE:/mnt/c'}", 2),
    ("train --conf run.yaml --report /mnt/r.html --log file://localhost/mnt/l", LASTS, 2),
    ("train --conf run.yaml", LASTS + "checkpoints: null", 0),
    ("train --conf run.yaml --set output=s3://bucket/m", "output: m", 0),
    ("train --conf none.yaml", LASTS, 0),
    ("evaluate --model m --data Digits", LASTS, 0),
    ("convert --data Digits --mean m.npy --output hdfs:/o --mean hdfs:///m.npy", LASTS, 0),
    ("caffe -conf s -test -model m -output hdfs:///o", LASTS, 0),
    ("caffe device_query", LASTS, 0),
]


@pytest.mark.parametrize("command, run, count", NOTED)
def test_an_absolute_one_is_noted_and_others_are_not(checked, command, run, count):
    assert len(checked(command, run)) == count


def of_heads():
    """Returns the commands in the head comments of conf/*.conf."""
    texts = [path.read_text() for path in sorted((ROOT / "conf").glob("*.conf"))]
    lines = "\n".join(texts).replace("\\\n#", " ").splitlines()
    return [line.strip("# ") for line in lines if line.startswith("#   sparkdl submit")]


DOCUMENTED = [line for page in pages() for line in commands(page)] + of_heads()
SENT = [line for line in DOCUMENTED if line.startswith("sparkdl submit")]


def test_submissions_are_documented():
    assert len(SENT) >= 7


@pytest.mark.parametrize("line", SENT)
def test_a_documented_submission_keeps_what_it_writes(line, monkeypatch):
    monkeypatch.chdir(ROOT)
    words = [{"yarn.conf": "conf/yarn.conf"}.get(word, word) for word in shlex.split(line)]
    given = cli.parser().parse_args(words[1:])
    if deploy_mode(given) == "cluster":
        assert check_outputs(given.understood(given.what)) == []
