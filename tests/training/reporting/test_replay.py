"""A replayed fit sends its listeners the same events as the original."""

import numpy as np
import pytest

from sparkdl.training.network import Network
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.listeners import Listener, Listeners
from sparkdl.training.reporting.replay import replay, tell_around
from sparkdl.training.workers.this_process import ThisProcess
from tests.training.report.fits import CONF
from tests.training.reports import plan

X = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
DATA = X, (X[:, 0] > 0).astype(int)


class Hearer(Listener):
    """Records events with their reports, and the length of the History at that time."""

    def __init__(self):
        self.heard = []

    def on_fit_start(self, plan):
        self.plan = plan

    def note(self, *event):
        history = self.plan.history
        counts = len(history.rounds), len(history.epochs), len(history.validations)
        self.heard.append((*event, counts))

    def on_round(self, report, state):
        self.note("round", report.iteration)

    def on_validation(self, report, state):
        self.note("validation", report.iteration)

    def on_epoch(self, report, state):
        self.note("epoch", report.epoch)

    def on_fit_end(self, history):
        self.note("end", self.plan.steering.error)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"validate_every": 3, "validate_first": True}])
def test_what_is_heard_later_is_what_was_heard_then(options):
    network, then, later = Network(CONF), Hearer(), Hearer()
    options |= {"validation": DATA, "workers": ThisProcess()}
    history = network.fit(DATA, 2, listeners=[then], **options)
    about = plan(conf=CONF, epochs=2, history=History())
    with tell_around(Listeners(later), about):
        replay(history, network.state, about, Listeners(later))
    assert later.heard == then.heard and len(then.heard) > 4
    assert about.history == history


def test_an_epoch_whose_end_was_due_before_the_first_round_is_told_first():
    network = Network(CONF)
    history = network.fit(DATA, 2, workers=ThisProcess())
    history.rounds = [report for report in history.rounds if report.epoch == 1]
    history.round_ends = history.round_ends[-len(history.rounds) :]
    later, about = Hearer(), plan(conf=CONF, epochs=2, history=History())
    with tell_around(Listeners(later), about):
        replay(history, network.state, about, Listeners(later))
    assert later.heard[0] == ("epoch", 0, (0, 1, 0))
    assert [event[:2] for event in later.heard if event[0] == "epoch"] == [
        ("epoch", 0),
        ("epoch", 1),
    ]


def test_a_fit_that_fails_is_told_with_its_error():
    later, about = Hearer(), plan(history=History())
    with pytest.raises(OSError, match="gone"), tell_around(Listeners(later), about):
        raise OSError("gone")
    [(event, error, counts)] = later.heard
    assert (event, str(error), counts) == ("end", "gone", (0, 0, 0))
