"""The page of a fit: one file, complete at any time, with the figures of the fit."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from sparkdl.errors import ConfigError, DataError
from sparkdl.training.report.page import page, write_report
from sparkdl.training.report.run import Run
from sparkdl.training.reporting.history import History
from tests.training.report.fits import FIGURES, evaluation, history, inspection, network

DATA = re.compile(r'<script id="data" type="application/json">(.*?)</script>', re.DOTALL)


def runs(**changes):
    return [Run.of("first <fit>", history(**changes), network()), Run.of("second", history())]


def data_of(text):
    [found] = DATA.findall(text)
    return json.loads(found)


@pytest.mark.slow
def test_the_page_holds_what_the_charts_draw():
    text = page(runs(), "Two")
    first, second = data_of(text)["runs"]
    assert first["name"] == "first <fit>" and first["rounds"]["update"][-1] == 30
    assert first["timeline"]["restarts"] == [[11.0, first["timeline"]["restarts"][0][1]]]
    assert first["weights"] and not second["weights"]
    assert "first &lt;fit&gt;" in text and "first <fit>" not in text
    assert "worker 1 &lt;/script&gt;" in text, "in a table; no text ends the script"
    assert "&lt;bee&gt;" in text, "the name of a class"


def test_names_that_utf_8_cannot_hold_have_a_page(tmp_path):
    """Such names come from `sparkdl report --title $'t\\xff'`."""
    made, bad = history(), "t\udcff"
    made.epochs[-1] = replace(made.epochs[-1], validation=evaluation(labels=(bad, "b", "c")))
    write_report(tmp_path / "page.html", [Run.of(bad, made)], title=bad)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    [run] = data_of(text)["runs"]
    assert run["name"] == "t?" and "<title>t?</title>" in text and 'data-run="t?"' in text
    assert run["roc"][0]["name"].startswith("t? (area")


def test_the_page_loads_nothing():
    text = page(runs())
    assert not re.search(r'(src|href)="(?!#|data:)', text) and "url(http" not in text
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", DATA.sub("", text))


@pytest.mark.parametrize("made", [History(), history(epochs=0), history(restart=False)])
def test_a_fit_that_did_little_has_a_page(made, tmp_path):
    made.report(tmp_path / "page.html")
    assert data_of((tmp_path / "page.html").read_text())["runs"][0]["name"] == "Fit"


def cells(text, caption):
    [found] = re.findall(rf"<caption>{caption}</caption>(.*?)</table>", text, re.DOTALL)
    return re.findall(r">([^<>]*)</t[hd]>", found)


def test_processes_and_their_exchange_are_there():
    made = history()
    both = [FIGURES._replace(sent=2_000_000, memory=210_000_000)] * 2
    made.rounds = [replace(one, by_worker=tuple(both), bytes_sent=4_000_000) for one in made.rounds]
    made.driver_memory, made.sent_between = 512_000_000, ((0, 9_000_000), (3_000_000, 0))
    made.master = {"type": "AllReduceSGD", "codec": {"type": "Half"}}
    made.other_memory = {"JVM of executor 0": 157_000_000}
    text = page([Run.of("a", made, network())])
    shown = cells(text, "Processes; times in seconds")
    assert shown[7:14] == ["worker 0", "300", "1.2", "8.4", "1.8", "12.0 MB", "210.0 MB"]
    assert shown[-14:-7] == ["driver", "", "", "", "", "", "512.0 MB"]
    assert shown[-7:] == ["JVM of executor 0", "", "", "", "", "", "157.0 MB"]
    assert cells(text, "Who was waited for")[4:8] == ["0", "6", "0", "computing"]
    shown = cells(text, "Exchange")
    assert shown[2:4] == ["master", '{"type": "AllReduceSGD", "codec": {"type": "Half"}}']
    assert shown[4:6] == ["codec", '{"type": "Half"}']
    assert shown[7] == "24.0 MB, 2.0 MB of a worker in a round"
    assert shown[9] == "parameters 172 B, buffers 0 B, state of the optimizer 172 B"
    shown = cells(text, "Sent by link")
    assert shown[:3] == ["from \\ to", "0", "1"]
    assert shown[3:] == ["worker 0", "0 B", "9.0 MB", "worker 1", "3.0 MB", "0 B"]


def test_of_many_workers_the_busiest_links_are_shown():
    made = history()
    made.sent_between = tuple(tuple(n * m for m in range(20)) for n in range(20))
    shown = cells(page([Run.of("a", made)]), "The 16 busiest links")
    assert shown[:6] == ["from", "to", "sent", "worker 19", "worker 19", "361 B"]
    assert len(shown) == 3 * 17


def test_a_page_replaces_another(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    history().report(path, network(), "New")
    assert "<title>New</title>" in path.read_text() and list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_ten_thousand_rounds_stay_below_three_megabytes():
    made, long = history(epochs=1, rounds=1), History(phases={"compute": 1.0})
    for n in range(10_000):
        round_seconds = {part: s * 1.001**n % 7 for part, s in made.rounds[0].seconds.items()}
        report = replace(made.rounds[0], iteration=n, loss=1 / (n + 3), seconds=round_seconds)
        long.phases["compute"] += report.duration
        long.add_round(report)
    long.inspection = inspection(1000)
    assert len(page([Run.of("long", long, network())])) < 3_000_000


@pytest.mark.parametrize("names", [[], ["a", "a"]])
def test_runs_need_names_of_their_own(names, tmp_path):
    with pytest.raises(ConfigError, match="runs must be at least one, each with a name of its own"):
        write_report(tmp_path / "page.html", [Run.of(name, history()) for name in names])


UNWRITABLE = {
    "a pipe": ("pipe", "pipe: must be the path of a file, got a pipe"),
    "a folder": ("runs", "runs: must be the path of a file, got a folder"),
    "below a file": ("notes/page.html", "page.html: cannot be written, .*notes is a file"),
    "another file system": ("memory://page.html", "must have a local path"),
}


@pytest.mark.parametrize("name", UNWRITABLE)
def test_a_path_that_cannot_have_a_page_is_named(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "notes").write_text("keep")
    os.mkfifo(tmp_path / "pipe")
    path, message = UNWRITABLE[name]
    with pytest.raises(DataError, match=message):
        write_report(path, [Run.of("one", history())])
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["notes", "pipe", "runs"]
    assert (tmp_path / "pipe").is_fifo()


def test_a_page_that_is_not_finished_leaves_nothing(tmp_path, monkeypatch):
    def refuse(path, target):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(DataError, match="page.html: cannot be written: Permission denied"):
        write_report(tmp_path / "page.html", [Run.of("one", history())])
    assert not list(tmp_path.iterdir())


def test_links_beside_a_page_are_not_followed(tmp_path):
    precious, path = tmp_path / "precious", tmp_path / "page.html"
    precious.write_text("precious")
    (tmp_path / f".page.html.{os.getpid()}").symlink_to(precious)
    write_report(path, [Run.of("one", history())])
    assert precious.read_text() == "precious" and not path.is_symlink()


def test_folders_above_a_page_are_made(tmp_path):
    path = tmp_path / "new" / "runs" / "page.html"
    write_report(path, [Run.of("one", history())])
    assert list(path.parent.iterdir()) == [path]
