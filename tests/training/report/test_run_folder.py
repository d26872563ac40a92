"""The log of a fit, and the same fit read from it."""

import json
import os
import time
from dataclasses import replace

import numpy as np
import pytest

from sparkdl.errors import ConfigError, DataError, DivergedError
from sparkdl.nn import Momentum
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.report.curves import round_curves
from sparkdl.training.report.page import page, page_data
from sparkdl.training.report.run import Run
from sparkdl.training.report.run_folder import read_run
from sparkdl.training.report.run_lines import MB
from sparkdl.training.report.run_log import LOG, RunLog
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.inspection import ArrayFigures, LayerReport
from sparkdl.training.reporting.lambda_listener import LambdaListener
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.reduce_rate import ReduceLROnPlateau
from sparkdl.training.saving.checkpoint import Checkpoints
from sparkdl.training.workers.local import LocalWorkers
from tests.support.tables import for_all
from tests.training.report.fits import CONF, evaluation, history, inspection, network
from tests.training.report.test_html_report import X, fit, steep
from tests.training.reports import plan


def write(folder, made, end=True, **place):
    """Sends the events of a History to a RunLog, as a fit would."""
    parts = {name: getattr(made, name) for name in ("phases", "inspection", "master")}
    log, told = RunLog(folder), History(**parts)
    rounds_in_epoch = made.rounds[0].rounds_in_epoch
    log.on_fit_start(plan(conf=CONF, history=told, rounds_in_epoch=rounds_in_epoch, **place))
    restarts = list(zip(made.restarts, made.restart_times, strict=True))
    for report, second in zip(made.rounds, made.round_ends, strict=True):
        told.rounds.append(report)
        told.round_ends.append(second)
        log.on_round(report, None)
        if report.round + 1 == report.rounds_in_epoch:
            [epoch] = [one for one in made.epochs if one.epoch == report.epoch]
            log.on_epoch(epoch, network().state)
            while restarts:
                told.restart_times.append(restarts[0][1])
                log.on_restart(restarts.pop(0)[0])
    if end:
        log.on_fit_end(made)
    return log


def rounded(made):
    return [replace(report, loss=float(f"{report.loss:.9g}")) for report in made.rounds]


@pytest.mark.slow
def test_a_fit_is_read_as_it_was_written(tmp_path):
    made = history()
    write(tmp_path / "first", made)
    found = read_run(tmp_path / "first")
    assert found.name == "first" and found.conf == CONF and found.ending == "its epochs"
    assert found.history.rounds == rounded(made)
    for name in ("round_ends", "restart_times", "restarts", "phases", "aggregation", "end_reason"):
        assert getattr(found.history, name) == getattr(made, name), name
    ours, theirs = (
        page_data([run])["runs"][0] for run in (found, Run.of("first", made, network()))
    )
    assert ours == theirs
    assert found.evaluation.wrong == list(evaluation().wrong)
    shown = page([found])
    assert "&lt;bee&gt;" in shown and "Confusion matrix" in shown and "Calibration" in shown


class Refusing(Listener):
    def on_fit_start(self, plan):
        raise ConfigError("not this fit")


@pytest.mark.slow
def test_a_fit_that_is_refused_leaves_the_log_of_the_last_one(tmp_path):
    fit(RunLog(tmp_path))
    before = (tmp_path / LOG).read_bytes()
    with pytest.raises(ConfigError, match="not this fit"):
        fit(RunLog(tmp_path), Refusing())
    assert (tmp_path / LOG).read_bytes() == before
    with pytest.raises(ConfigError, match="not this fit"):
        fit(RunLog(tmp_path / "new"), Refusing())
    assert read_run(tmp_path / "new").history.rounds == []


@pytest.mark.parametrize(
    "end, minutes, ending",
    [
        (False, 0, "still running"),
        (False, 35, "no line for 35 minutes; last at "),
        (False, 3000, "no line for 3,000 minutes; last at "),
        (True, 3000, "its epochs"),
    ],
)
def test_a_log_without_an_end_says_when_it_was_written_last(end, minutes, ending, tmp_path):
    """A killed fit leaves such a log, but so may a slow one."""
    write(tmp_path, history(), end=end)
    at = time.time() - 60 * minutes - 5
    os.utime(tmp_path / LOG, (at, at))
    last = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at)) if "last" in ending else ""
    found = read_run(tmp_path, "first")
    assert found.ending == ending + last and ending + last in page([found])


def test_bytes_memory_and_devices_are_written_where_they_change(tmp_path):
    made = history(restart=False)
    changes = [(70, 210, 1), (70, 210, 1), (70, 219, 1), (90, 320, 1), (0, 1234, 2), (0, 1234, 2)]
    for n, (sent, memory, devices) in enumerate(changes):
        workers = [one._replace(sent=sent, memory=memory * MB) for one in made.rounds[n].by_worker]
        devices = {"the processor": devices} if n else {}
        options = {"bytes_sent": 2 * sent, "devices": devices, "by_worker": tuple(workers)}
        made.rounds[n] = replace(made.rounds[n], **options)
    made.master, made.driver_memory = {"type": "AllReduceSGD"}, 5 * MB
    made.other_memory = {"driver's JVM": 7 * MB}
    made.sent_between = ((0, 450), (450, 0))
    write(tmp_path, made)
    found = read_run(tmp_path).history
    assert (found.master, found.driver_memory) == (made.master, made.driver_memory)
    assert found.sent_between == made.sent_between
    assert found.other_memory == made.other_memory
    for ours, theirs in zip(found.rounds, made.rounds, strict=True):
        assert (ours.bytes_sent, ours.devices) == (theirs.bytes_sent, theirs.devices)
        for one, other in zip(ours.by_worker, theirs.by_worker, strict=True):
            assert one.sent == other.sent and one.memory == pytest.approx(other.memory, rel=0.05)
    text = (tmp_path / LOG).read_text()
    assert (text.count('"memory"'), text.count('"sent"'), text.count('"devices"')) == (4, 3, 2)
    assert text.count('"bytes_sent"') == 0, "it is their sum"


def test_what_was_inspected_is_read_as_it_was_written(tmp_path):
    made = history()
    made.inspection = inspection()
    bad = ArrayFigures(float("nan"), float("inf"), 0.1)
    made.inspection.add(LayerReport(iteration=90, epoch=2, arrays={"dense_1/W": bad}))
    write(tmp_path, made)
    found = read_run(tmp_path).history.inspection
    assert found.layers[:-1] == made.inspection.layers[:-1]
    parameter, gradient, update = found.layers[-1].arrays["dense_1/W"]
    assert np.isnan([parameter, gradient]).all() and update == 0.1
    for name in ("examples", "batch_size", "costs", "gradients", "updates", "wrong"):
        assert getattr(found, name) == getattr(made.inspection, name), name


def test_inspections_stand_where_they_came(tmp_path):
    made, whole = history(), inspection()
    made.inspection = whole.after(None)
    layers, made.inspection.layers = made.inspection.layers, []
    log = RunLog(tmp_path)
    log.on_fit_start(plan(conf=CONF, history=made))
    for report in layers:
        made.inspection.add(report)
        log.on_round(made.rounds[0], None)
        log.on_epoch(made.epochs[0], None)
    events = [json.loads(line)["event"] for line in (tmp_path / LOG).read_text().splitlines()]
    assert events[2:6] == ["inspection", "round", "layers", "epoch"]
    assert events.count("layers") == len(layers)


@pytest.mark.slow
def test_a_real_fit_takes_less_than_200_bytes_a_round(tmp_path):
    made = fit(RunLog(tmp_path))
    lines = (tmp_path / LOG).read_text().splitlines()
    rounds = [line for line in lines if json.loads(line)["event"] == "round"]
    assert len(rounds) == len(made.rounds) and max(map(len, rounds)) < 200
    found = read_run(tmp_path)
    assert [one.iteration for one in found.history.rounds] == [n.iteration for n in made.rounds]
    np.testing.assert_allclose(
        [n.loss for n in found.history.rounds], [n.loss for n in made.rounds]
    )
    assert found.history.wall == pytest.approx(made.wall, abs=0.1)
    assert found.evaluation is None and found.histograms


def test_a_round_of_two_workers_takes_less_than_200_bytes(tmp_path):
    made = history(epochs=1, rounds=1)
    seconds = dict.fromkeys(made.rounds[0].seconds, 12.34567)
    worker = made.rounds[0].by_worker[0]._replace(examples=12345, reading=1.23456, compute=12.3456)
    big = replace(
        made.rounds[0], iteration=123456, round=1234, epoch=99, loss=0.123456789, seconds=seconds,
        by_worker=(worker, worker), examples=24690, bytes_sent=123456789, rounds_in_epoch=2,
    )  # fmt: skip
    told = History(rounds=[big], round_ends=[12345.6789])
    log = RunLog(tmp_path)
    log.on_fit_start(plan(conf=CONF, history=told, rounds_in_epoch=2))
    log.on_round(big, None)
    log.on_fit_end(told)
    [line] = [x for x in (tmp_path / LOG).read_text().splitlines() if '"round","epoch"' in x]
    assert len(line) < 250


def test_a_fit_that_goes_on_goes_on_in_its_log(tmp_path):
    whole = history(restart=False)
    first, second = (
        replace(whole, rounds=whole.rounds[part], round_ends=whole.round_ends[part], epochs=epochs)
        for part, epochs in ((slice(0, 5), whole.epochs[:1]), (slice(3, 6), whole.epochs[1:]))
    )
    write(tmp_path, first, end=False)
    write(tmp_path, second, epoch=1)
    found = read_run(tmp_path).history
    assert found.rounds == rounded(whole), "two rounds were done again, and count once"
    assert [one.epoch for one in found.epochs] == [0, 1]
    assert found.round_ends == sorted(found.round_ends)
    write(tmp_path, first)
    assert len(read_run(tmp_path).history.rounds) == 5, "a fit that begins replaces the log"


@pytest.mark.slow
@pytest.mark.parametrize("event", ["on_round", "on_validation"])
def test_a_fit_that_goes_on_in_its_log_has_each_evaluation_once(event, tmp_path):
    options = {"validate_every": 1, "validation": (X, (X[:, 0] > 0).astype(int))}
    log, checkpoints = RunLog(tmp_path / "log"), Checkpoints(path=tmp_path / "saved")

    def fail(report, state):
        if report.iteration == 7:
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        stop = LambdaListener(**{event: fail})
        train(Network(CONF), log, stop, checkpoints=checkpoints, **options)
    made = train(Network(CONF), log, resume=tmp_path / "saved", **options)
    found = read_run(tmp_path / "log").history
    updates = [one.iteration for one in found.rounds]
    assert updates == list(range(1, updates[-1] + 1)) and made.rounds[-1].iteration == updates[-1]
    assert [one.iteration for one in found.validations] == updates
    assert [one.epoch for one in found.epochs] == sorted({one.epoch for one in found.rounds})


def train(network, *listeners, **options):
    workers = LocalWorkers(1)
    data = X, (X[:, 0] > 0).astype(int)
    master = ParameterAveraging(batch_size_per_worker=16, averaging_frequency=1)
    options |= {"listeners": listeners, "workers": workers, "master": master}
    return network.fit(data, 3, **options)


@pytest.mark.slow
def test_rates_that_a_listener_lowers_are_read_as_they_were(tmp_path):
    plateau = ReduceLROnPlateau("loss", factor=0.5, patience=1, mode="max", min_lr=0.01)
    network = Network(replace(CONF, optimizer=Momentum(learning_rate=0.02)))
    made = train(network, plateau, RunLog(tmp_path))
    found = read_run(tmp_path)
    expected = [0.02 if one.epoch < 2 else 0.01 for one in made.rounds]
    runs = found, Run.of("one", made, network)
    for run in runs:
        assert round_curves(run)["learning rate"] == pytest.approx(expected)
    text = (tmp_path / LOG).read_text()
    assert text.count(',"rate_factor":0.5') == 1, "it is written where it changes"
    (tmp_path / LOG).write_text(text.replace(',"rate_factor":0.5', ""))
    assert {one.rate_factor for one in read_run(tmp_path).history.rounds} == {1.0}, "older logs"


def test_what_is_just_being_written_is_left_out(tmp_path):
    write(tmp_path, history(), end=False)
    path = tmp_path / LOG
    assert read_run(tmp_path).ending == "still running"
    text = path.read_text()
    path.write_text(text + '{"event":"round","epo')
    found = read_run(tmp_path)
    assert len(found.history.rounds) == 6 and found.history.wall > 0
    assert found.evaluation.numbers["accuracy"] == pytest.approx(
        history().epochs[-1].validation.accuracy, rel=1e-5
    )


@pytest.mark.slow
def test_a_fit_that_failed_has_a_log(tmp_path):
    with pytest.raises(DivergedError):
        fit(RunLog(tmp_path), conf=steep(), x=X * 1e30)
    assert read_run(tmp_path).conf == steep()
    assert "training has diverged" in read_run(tmp_path).ending

    def fail(report, state):
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        fit(RunLog(tmp_path), LambdaListener(on_round=fail))
    assert read_run(tmp_path).history.end_reason.startswith("interrupted by ArithmeticError")


LINES = {
    "no JSON": "what",
    "no event": "{}",
    "an unknown event": '{"event": "fun"}',
    "a field too many": '{"event": "end", "reason": null}',
    "no object": "[1]",
    "an unknown phase": '{"event": "phases", "seconds": {"fun": 1.5}}',
    "less than no seconds": '{"event": "phases", "seconds": {"compute": 1, "reading": -1}}',
    "no seconds": '{"event": "phases", "seconds": {"compute": null}}',
    "deep lists": "[" * 100_000 + "]" * 100_000,
    "another format": json.dumps({"event": "start"} | dict.fromkeys(
        ["format", "time", "epoch", "round", "epochs", "rounds_in_epoch", "network"], 7)),
}  # fmt: skip


ROUND = {  # changes to a valid event
    "iteration": "x",
    "epoch": [],
    "round": -1,
    "second": None,
    "loss": 10**400,
    "seconds": ["x"] * 4,
    "workers": [[1, 1e30, 1, 1]] * 2,
    "size": 10**400,
    "rounds_in_epoch": 0,
    "rate_factor": "x",
    "sent": ["x", "y"],
    "skipped": 0.5,
}


@pytest.mark.parametrize("name", ROUND)
def test_a_round_of_other_figures_is_named(name, tmp_path):
    write(tmp_path, history())
    lines = (tmp_path / LOG).read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if '"round","epoch"' in line)
    lines[at] = json.dumps(json.loads(lines[at]) | {name: ROUND[name]})
    (tmp_path / LOG).write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=rf"{LOG}: line {at + 1} must be an event of a fit"):
        page([read_run(tmp_path)])


PNG = "data:image/png;base64,"
IMAGES = [
    "http://evil.example/track.png?who=you",
    "//evil.example/track.png",
    "data:image/svg+xml;base64,AAAA",
    PNG,
    f"{PNG}AAAA http://evil.example",
    f"{PNG}AAAA\n",
    f"{PNG}A===",
    ["http://evil.example/track.png"],
    None,
]
BEFORE_WRONG = {
    "inspection": {},
    "evaluation": {"figures": {"accuracy": 0.5}, "score": 0.5},
    "validation": {"figures": {"accuracy": 0.5}, "score": 0.5, "iteration": 9, "epoch": 0},
}


def test_only_a_png_of_the_log_itself_is_an_image(tmp_path):
    """Loading any other image would tell its server who views the page."""
    write(tmp_path, history(), end=False)
    text = (tmp_path / LOG).read_text()
    wrong = {"number": 1, "loss": 3.0, "truth": "a", "prediction": "b"}

    def add(image, event):
        row = {"event": event, "wrong": [wrong | {"image": image}], **BEFORE_WRONG[event]}
        (tmp_path / LOG).write_text(f"{text}{json.dumps(row)}\n")

    def check(row):
        add(*row)
        with pytest.raises(DataError, match=rf"{LOG}: line .* must be an event of a fit"):
            read_run(tmp_path)

    for_all([(image, event) for image in IMAGES for event in BEFORE_WRONG], check)
    for image in ("", f"{PNG}iVBORw0KGgo=", f"{PNG}ab+/"):
        add(image, "inspection")
        [found] = read_run(tmp_path).history.inspection.wrong
        assert found.image == image


@pytest.mark.parametrize("name", LINES)
def test_a_line_that_is_none_is_named(name, tmp_path):
    write(tmp_path, history())
    with (tmp_path / LOG).open("a") as file:
        file.write(LINES[name] + "\n")
    count = len((tmp_path / LOG).read_text().splitlines())
    with pytest.raises(
        DataError, match=rf"{LOG}: line {count} must be an event of a fit, format 1"
    ):
        read_run(tmp_path)


def test_a_folder_without_a_log_is_named(tmp_path):
    with pytest.raises(DataError, match=rf"must be a folder with the log of a fit, {LOG}, got"):
        read_run(tmp_path)
    with pytest.raises(DataError, match="must be a local path"):
        RunLog("hdfs://name/there")


def test_a_folder_that_cannot_be_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=rf"file/runs/{LOG}: cannot be written: Not a directory"):
        fit(RunLog(tmp_path / "file" / "runs"))


def test_a_network_of_unknown_layers_is_left_out_with_a_word(tmp_path):
    write(tmp_path, history())
    path = tmp_path / LOG
    path.write_text(path.read_text().replace('"Dense"', '"Mine"'))
    found = read_run(tmp_path)
    assert found.conf is None and "not shown" in dict(found.environment)["network"]
    assert "not shown" in page([found])
