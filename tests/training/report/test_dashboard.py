"""The page served during a fit."""

import threading
import urllib.error
import urllib.request
from contextlib import closing

import pytest

from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.training.report import dashboard, page_server
from sparkdl.training.report.dashboard import Dashboard
from sparkdl.training.reporting.lambda_listener import LambdaListener
from tests.training.report.fits import history
from tests.training.report.test_html_report import fit
from tests.training.report.test_page import cells, data_of
from tests.training.report.test_run_folder import write


def read(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def refusal(url):
    with pytest.raises(urllib.error.HTTPError) as caught:
        read(url)
    with closing(caught.value) as answer:
        return answer.code


def rounds_at(url):
    [run] = data_of(read(url))["runs"]
    return len(run["rounds"]["loss"])


@pytest.mark.slow
def test_the_page_follows_the_fit(monkeypatch):
    monkeypatch.setattr(dashboard, "SHARE", 1e9)
    with closing(Dashboard(seconds=1e-9)) as board:
        seen = [rounds_at(board.url)]
        assert cells(read(board.url), "Fits")[-1] == "it has not begun"
        made = fit(board, LambdaListener(on_round=lambda *_: seen.append(rounds_at(board.url))))
        assert seen == list(range(len(made.rounds) + 1)) and rounds_at(board.url) == seen[-1]
        assert 'new EventSource("events")' in read(board.url)
        assert f'src="{board.url}"' in board._repr_html_()


@pytest.mark.slow
def test_browsers_hear_of_changes():
    with closing(Dashboard(seconds=1e-9)) as board:
        with urllib.request.urlopen(board.url + "events", timeout=10) as events:
            assert events.headers["Content-Type"] == "text/event-stream"
            fit(board)
            assert events.readline().startswith(b"data: ")


@pytest.mark.slow
def test_a_silent_fit_says_so_and_a_closed_server_ends(monkeypatch):
    monkeypatch.setattr(page_server, "SILENCE", 0.05)
    before = set(threading.enumerate())
    board = Dashboard()
    with urllib.request.urlopen(board.url + "events", timeout=10) as events:
        assert events.readline() == b": nothing\n"
        board.close()
        assert b"data" not in events.read()
    left = set(threading.enumerate()) - before
    assert not [thread for thread in left if "serve_forever" in thread.name]


@pytest.mark.slow
@pytest.mark.parametrize("path", ["", "wrong/", "wrong/events", "TOKEN/other", "TOKEN"])
def test_without_the_token_there_is_nothing(path):
    with closing(Dashboard()) as board:
        *_, token, _ = board.url.split("/")
        start = board.url.removesuffix(f"{token}/")
        assert refusal(start + path.replace("TOKEN", token)) == 404


@pytest.mark.slow
def test_another_process_shows_what_came_before(tmp_path):
    whole = history(restart=False)
    write(tmp_path, whole, end=False)
    with closing(Dashboard(folder=tmp_path)) as board:
        assert rounds_at(board.url) == len(whole.rounds)


@pytest.mark.slow
def test_too_many_browsers_are_sent_away(monkeypatch):
    monkeypatch.setattr(page_server, "MOST_BROWSERS", 0)
    with closing(Dashboard()) as board:
        assert refusal(board.url + "events") == 503


@pytest.mark.slow
def test_a_port_that_is_taken_is_named():
    with closing(Dashboard()) as board:
        port = int(board.url.split(":")[2].split("/")[0])
        with pytest.raises(UnsupportedError, match=rf"Dashboard\.port must be one .*, got {port}"):
            Dashboard(port)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"port": -1}, "port must be an integer from 0 to 65535"),
        ({"port": 65536}, "port must be an integer from 0 to 65535, got 65536"),
        ({"port": "80"}, "port must be"),
        ({"seconds": 0}, "seconds must be"),
    ],
)
def test_options_are_checked(options, field):
    with pytest.raises(ConfigError, match=rf"Dashboard\.{field}"):
        Dashboard(**options)
