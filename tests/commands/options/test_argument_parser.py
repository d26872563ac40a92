"""Misspelt commands, options and choices: what was meant, with the usage of the command."""

from dataclasses import fields

import pytest

from sparkdl import cli
from sparkdl.commands.options.run_conf import RunConf, setting_paths

DATA = ["--model", "m", "--data", "Digits"]
FILE = ["--conf", "a.yaml"]
MISSPELT = {
    "a command": (["tain"], "sparkdl", "'tain' (choose from {}); did you mean 'train'?"),
    "an abbreviated command": (["eval"], "sparkdl", "did you mean 'evaluate'?"),
    "another command": (["qqq"], "sparkdl", "invalid choice: 'qqq' (choose from {})"),
    "an option": (
        ["evaluate", *DATA, "--masterr", "yarn"],
        "sparkdl evaluate",
        "unrecognized arguments: --masterr yarn; did you mean '--master'?",
    ),
    "an option and its value": (
        ["demo", "--epochz=3"],
        "sparkdl demo",
        "unrecognized arguments: --epochz=3; did you mean '--epochs'?",
    ),
    "an option with one dash": (
        ["summary", *FILE, "-set", "epochs=3"],
        "sparkdl summary",
        "unrecognized arguments: -set epochs=3; did you mean '--set'?",
    ),
    "a flag of Caffe": (
        ["caffe", "-trian"],
        "sparkdl caffe",
        "unrecognized arguments: -trian; did you mean '-train'?",
    ),
    "a required option": (
        ["train", "--cnof", "a.yaml"],
        "sparkdl train",
        "are required: --conf; unrecognized arguments: --cnof; did you mean '--conf'?",
    ),
    "an option of all": (["--versoin"], "sparkdl", "--versoin; did you mean '--version'?"),
    "another option": (["summary", *FILE, "--qqq"], "sparkdl summary", "arguments: --qqq"),
    "an option of a run": (
        ["train", *FILE, "--epochs", "3"],
        "sparkdl train",
        "unrecognized arguments: --epochs 3; did you mean '--set epochs=...'?",
    ),
    "an option of a section": (
        ["time", *FILE, "--worker", "3"],
        "sparkdl time",
        "unrecognized arguments: --worker 3; did you mean '--set training.workers=...'?",
    ),
    "Spark's master of a run": (
        ["train", *FILE, "--master", "yarn"],
        "sparkdl train",
        "--master yarn; did you mean '--set spark.master=...'?",
    ),
    "a choice": (
        ["convert", "--data", "Digits", "--to", "lmdb"],
        "sparkdl convert",
        "'lmdb' (choose from {}); did you mean 'LMDB'?",
    ),
    "a choice of submit": (
        ["submit", "--deploy-mode", "clster", "--", "train", *FILE, "--maste"],
        "sparkdl submit",
        "'clster' (choose from {}); did you mean 'cluster'?",
    ),
    "an option of the command that is submitted": (
        ["submit", "--master", "yarn", "--", "train", *FILE, "--resum", "m", "--lug", "l"],
        "sparkdl train",
        "unrecognized arguments: --lug l; did you mean '--log'?",
    ),
}


@pytest.mark.parametrize("case", MISSPELT)
def test_the_usage_of_the_command_and_what_was_meant(case, capsys):
    arguments, program, text = MISSPELT[case]
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    out, err = capsys.readouterr()
    assert (stop.value.code, out) == (2, "")
    start, end = text.split("{}") if "{}" in text else ("", text)
    *usage, last = err.splitlines()
    assert usage[0].startswith(f"usage: {program} [-h]")
    assert last.startswith(f"{program}: error: ") and start in last and last.endswith(end)


def test_a_correct_option_is_no_misspelt_one(capsys):
    for arguments in (["features", *DATA, "--out", "f"], ["demo", "--epochs", "three"]):
        with pytest.raises(SystemExit):
            cli.main(arguments)
        assert "did you mean" not in capsys.readouterr().err


def test_every_option_of_a_run_has_its_path():
    paths = setting_paths()
    assert {each.name: each.name for each in fields(RunConf)}.items() <= paths.items()
    assert paths["validation"] == "data.validation" and paths["keep"] == "checkpoints.keep"
