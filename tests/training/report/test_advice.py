"""The advice on a page, computed by hand, and its command for the cost model."""

import shlex

import pytest

from sparkdl.cli import parser
from sparkdl.commands.options.quantities import count, duration
from sparkdl.training.report.advice import advise, exchange_advice, layer_advice, question
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.reports import WorkerFigures
from tests.training.report.fits import CONF, inspection
from tests.training.reports import report


def fit(master, sent=0, averaging=3.0):
    """Returns a fit of four rounds of 5 updates; exchanges took `averaging` of 10 s."""
    made = History(phases={"compute": 10 - averaging, "averaging": averaging}, master=master)
    workers = (WorkerFigures(50, 0.2, 1.4, 0.3, sent // 2),) * 2
    for n in range(4):
        made.rounds.append(report(iteration=5 * (n + 1), bytes_sent=sent, by_worker=workers))
        made.round_ends.append(2.5 * (n + 1))
    return made


@pytest.mark.slow
def test_a_longer_interval_halves_the_time_of_exchanges():
    text = exchange_advice(fit({"type": "ParameterAveraging"}))
    assert text == (
        "Exchanging took 3.00 s, 30 % of the fit. Twice the averaging_frequency would have half as "
        "many exchanges, each as long: 1.50 s less."
    )


def test_a_codec_sends_less_of_what_was_sent():
    text = exchange_advice(fit({"type": "AllReduceSGD"}, sent=8_000_000))
    assert text.endswith(
        "Of the 32.0 MB that workers sent, codec=Half() would send 16.0 MB, and OneBit() 1.0 MB: "
        "where the wire takes the time, 1.50 and 2.91 s less, but for encoding."
    )
    assert "Half" not in exchange_advice(fit({"type": "AllReduceSGD"}, sent=48))
    coded = {"type": "AllReduceSGD", "codec": {"type": "Half"}}
    assert "Half" not in exchange_advice(fit(coded, sent=8_000_000))


def test_what_takes_little_is_not_spoken_of():
    made = fit({"type": "ParameterAveraging"}, averaging=0.9)
    assert exchange_advice(made) == "" == question(made, CONF)
    assert exchange_advice(fit(None)) == "" and layer_advice(made) == ""


def test_the_largest_layer_is_named():
    made = fit(None)
    made.inspection = inspection()
    assert layer_advice(made) == "On the driver's processor dense_1 takes 70 % of a step."


def test_the_question_is_a_command_with_the_figures_of_the_fit():
    made = fit({"type": "AllReduceSGD"})
    text = question(made, CONF)
    command = text.partition(": sparkdl ")[2].partition(", with")[0]
    assert command == "simulate --workers 2 --params 43 --compute 280ms"
    asked = parser().parse_args(shlex.split(command))
    assert (asked.workers, count("--params", asked.params)) == (2, CONF.parameter_count)
    assert duration("--compute", asked.compute) == pytest.approx(4 * 1.4 / 20)
    assert advise(made, CONF)[-1] == text and advise(made)[0] == made.advice()


def test_a_fit_of_nothing_has_no_advice():
    assert advise(History(), CONF) == []
