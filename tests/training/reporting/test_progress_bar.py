"""Output of the progress bar, and when it stays silent."""

import io
import sys
from types import SimpleNamespace

import pytest
from tqdm import tqdm

from sparkdl.training.reporting import progress_bar
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.progress_bar import ProgressBar
from sparkdl.training.reporting.reports import EpochReport
from tests.training.reports import plan, report, state


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(file, show=None, **changes):
    """Returns the output of the bar for one round and its epoch."""
    bar = ProgressBar(show=show, file=file, interval=0)
    bar.on_fit_start(plan(**changes))
    bar.on_round(report(epoch=1, round=1, loss=0.25), state())
    bar.on_epoch(EpochReport.of([report(epoch=1, loss=0.25)]), state())
    bar.on_fit_end(History())
    return file.getvalue()


@pytest.mark.parametrize(
    "part", ["epoch 2/3 round 2/2", "loss 0.2500", "50 examples/s", " left", " gone", " 17% "]
)
def test_it_shows(part):
    assert part in shown(Terminal())


def test_an_epoch_leaves_a_line():
    assert "epoch 2/3: loss 0.2500, 2.0 s\n" in shown(Terminal())


def test_a_resumed_fit_starts_where_it_was():
    assert " 67% " in shown(Terminal(), epoch=1, round=1)


def test_a_file_gets_nothing_unless_forced():
    assert shown(io.StringIO()) == ""
    assert "round 2/2" in shown(io.StringIO(), show=True)


class Log:
    """A stream like those that pass lines on to a logger in place of standard error."""

    def __init__(self):
        self.lines = []

    def write(self, text):
        self.lines.append(text)

    def flush(self):
        pass


@pytest.mark.parametrize("stream", [Log(), None], ids=["a stream that writes", "none"])
def test_standard_error_that_is_no_file_gets_nothing(stream, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream)
    bar = ProgressBar(interval=0)
    bar.on_fit_start(plan())
    bar.on_round(report(epoch=1, round=1, loss=0.25), state())
    bar.on_epoch(EpochReport.of([report(epoch=1, loss=0.25)]), state())
    bar.on_fit_end(History())
    assert stream is None or not stream.lines


def test_a_terminal_gets_nothing_if_told_so():
    assert shown(Terminal(), show=False) == ""


def test_a_notebook_is_watched(monkeypatch):
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert "round 2/2" in shown(io.StringIO())


def test_it_goes_to_standard_error(capsys):
    bar = ProgressBar(show=True)
    bar.on_fit_start(plan())
    bar.on_fit_end(History())
    written = capsys.readouterr()
    assert written.out == "" and "preparing" in written.err


def test_the_end_may_come_before_the_start():
    ProgressBar().on_fit_end(History())


def test_a_notebook_has_one_widget_and_no_lines(monkeypatch, capsys):
    shell, said = SimpleNamespace(kernel=object()), []
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))

    class Widget(tqdm):
        def set_postfix_str(self, line, refresh=True):
            said.append(line)

    monkeypatch.setattr(progress_bar, "widget_or_line", Widget)
    bar = ProgressBar()
    bar.on_fit_start(plan())
    bar.on_epoch(EpochReport.of([report(epoch=1, loss=0.25)]), state())
    bar.on_fit_end(History())
    assert said == ["epoch 2/3: loss 0.2500, 2.0 s"] and "epoch 2/3" not in capsys.readouterr().err
