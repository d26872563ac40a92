"""The lines of a fit's log hold what its History holds."""

import json

import numpy as np
import pytest

from sparkdl.errors import DivergedError
from sparkdl.nn import Dense, Momentum, NetworkConf, Output
from sparkdl.training.network import Network
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.json_log import JsonLog, sound
from sparkdl.training.reporting.reports import FitPlan, Restart
from sparkdl.training.workers.local import LocalWorkers

X = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
LABELS = (X[:, 0] > 0).astype(int)


def fit(path, x=X, rate=0.1, **options):
    layers = [Dense(units=3), Output(units=2)]
    conf = NetworkConf(input_shape=(4,), layers=layers, optimizer=Momentum(learning_rate=rate))
    options |= {"listeners": [JsonLog(path)], "workers": LocalWorkers(1)}
    return Network(conf).fit((x, LABELS), 2, **options)


def lines(path, event=None):
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in found if event in (None, line["event"])]


def without_head(found):
    return [{k: v for k, v in line.items() if k not in ("event", "time")} for line in found]


def test_rounds_epochs_and_validations_are_those_of_the_history(tmp_path):
    path = tmp_path / "fit.jsonl"
    history = fit(path, validation=(X, LABELS), validate_every=1)
    for event, reports in [
        ("round", history.rounds),
        ("epoch", history.epochs),
        ("validation", history.validations),
    ]:
        expected = [sound(report.to_dict()) for report in reports]
        assert expected and without_head(lines(path, event)) == expected, event
    assert [line["loss"] for line in lines(path, "round")] == [r.loss for r in history.rounds]
    found = lines(path)
    assert found[0]["event"] == "fit_start" and found[0]["epochs"] == 2
    assert found[-1]["event"] == "fit_end" and found[-1]["rounds"] == len(history.rounds)
    times = [line["time"] for line in found]
    assert times == sorted(times)


def test_a_second_fit_goes_on_in_the_file_and_a_failed_one_has_its_end(tmp_path):
    path = tmp_path / "fit.jsonl"
    fit(path)
    with pytest.raises(DivergedError):
        fit(path, X * 1e30, rate=9)
    assert len(lines(path, "fit_start")) == len(lines(path, "fit_end")) == 2


def test_a_restart_has_its_reason(tmp_path):
    log = JsonLog(tmp_path / "fit.jsonl")
    log.on_fit_start(FitPlan(conf=None, epochs=1, rounds_in_epoch=1))
    log.on_restart(Restart(epoch=0, round=1, lost=2, workers=1, reason="rank 1 was killed"))
    log.on_fit_end(History())
    [line] = lines(tmp_path / "fit.jsonl", "restart")
    assert (line["reason"], line["lost"]) == ("rank 1 was killed", 2)


@pytest.mark.parametrize(
    "value, kept",
    [
        (float("nan"), None),
        (np.float32("inf"), None),
        (np.array([1.0, np.nan]), [1.0, None]),
        ({1: (np.int64(2), True)}, {"1": [2, True]}),
        ("text", "text"),
    ],
)
def test_what_is_not_finite_is_null(value, kept):
    assert sound(value) == kept
