"""sparkdl report: folders of fits become one page that compares them."""

from pathlib import Path

import pytest

from sparkdl import cli
from tests.training.report.fits import history
from tests.training.report.test_page import data_of
from tests.training.report.test_run_folder import write

FOLDERS = {
    "one": (["runs/a"], ["a"]),
    "two": (["runs/a", "runs/b"], ["a", "b"]),
    "two of one name": (["runs/a", "other/a"], ["runs/a", "other/a"]),
    "one twice": (["runs/a", "runs/a"], ["a"]),
}


@pytest.fixture(autouse=True)
def logs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("runs/a", "runs/b", "other/a"):
        write(folder, history())


@pytest.mark.parametrize("name", FOLDERS)
def test_each_fit_has_its_name(name, capsys):
    folders, names = FOLDERS[name]
    assert cli.main(["report", *folders]) == 0
    assert capsys.readouterr().out == f"the report of {', '.join(names)} is in report.html\n"
    text = Path("report.html").read_text()
    assert [run["name"] for run in data_of(text)["runs"]] == names
    assert f"<title>{', '.join(names)}</title>" in text


@pytest.mark.parametrize("folder", ["nowhere", "runs", "runs/a/fit.jsonl"])
def test_a_folder_without_a_log_is_named(folder, capsys):
    assert cli.main(["report", folder, "--output", "page.html", "--title", "T"]) == 2
    cause = f"{folder}: must be a folder with the log of a fit, fit.jsonl, got none; sparkdl train "
    assert cause in capsys.readouterr().err
    assert not Path("page.html").exists()


def test_a_folder_that_cannot_be_looked_into_is_named(capsys):
    """It was a traceback."""
    assert cli.main(["report", "a" * 300]) == 2
    assert "fit.jsonl: cannot be" in capsys.readouterr().err
    assert not Path("report.html").exists()
