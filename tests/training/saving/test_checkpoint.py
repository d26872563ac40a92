"""Checkpoints: when they are written, which are kept, and which is restored."""

import os

import numpy as np
import pytest

from sparkdl.data import files
from sparkdl.errors import CheckpointError, ConfigError, DivergedError
from sparkdl.training.reporting.steering import Steering
from sparkdl.training.saving.checkpoint import (
    Checkpoints,
    CheckpointWriter,
    latest,
    load_checkpoint,
)
from sparkdl.training.saving.model_directory import save_model
from tests.training.models import assert_equal, small_conf, state_of
from tests.training.reports import plan, report

CONF = small_conf()


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def writer_for(folder, clock=None, start=0, steering=None, **options):
    writer = CheckpointWriter(Checkpoints(path=folder, **options), clock or Clock())
    extra, steering = {"master": "averaging"}, steering or Steering()
    writer.on_fit_start(plan(conf=CONF, rounds=start, extra=extra, steering=steering))
    return writer


def train(writer, rounds, start=0):
    for done in range(start + 1, start + rounds + 1):
        writer.on_round(report(), state_of(CONF, seed=done, rounds=done))


def names(folder):
    return sorted(os.listdir(folder)) if os.path.exists(folder) else []


def test_every_rounds_keeping_the_last(tmp_path):
    writer = writer_for(tmp_path / "c", every_rounds=3, keep=2)
    assert writer.last is None
    train(writer, 11)
    assert names(tmp_path / "c") == ["round-00000006", "round-00000009"]
    assert writer.last == latest(tmp_path / "c") == str(tmp_path / "c" / "round-00000009")


def test_the_root_of_a_file_system():
    folder = "memory:///"  # like hdfs:///, whose server is in a configuration
    first, last = (f"{folder}round-0000000{number}" for number in (2, 3))
    try:
        train(writer_for(folder, every_rounds=1, keep=2), 3)
        assert latest(folder) == last and files.is_directory(first)
        assert load_checkpoint(folder)[1].rounds == 3
    finally:
        files.remove(first)
        files.remove(last)


def test_every_minutes(tmp_path):
    clock = Clock()
    writer = writer_for(tmp_path / "c", clock, every_minutes=2)
    for done, seconds in enumerate([60, 59, 1, 60, 59, 300, 0], start=1):
        clock.now += seconds
        writer.on_round(report(), state_of(CONF, rounds=done))
    assert names(tmp_path / "c") == ["round-00000003", "round-00000006"]


def test_after_each_epoch_if_nothing_is_said(tmp_path):
    writer = writer_for(tmp_path / "c")
    train(writer, 4)
    assert names(tmp_path / "c") == []
    writer.on_epoch(report(), state_of(CONF, epoch=1, rounds=4))
    assert names(tmp_path / "c") == ["round-00000004"]


def test_not_after_an_epoch_if_rounds_are_given(tmp_path):
    writer = writer_for(tmp_path / "c", every_rounds=3)
    writer.on_epoch(report(), state_of(CONF, rounds=4))
    assert names(tmp_path / "c") == []


@pytest.mark.parametrize("event", ["on_epoch", "on_validation"])
@pytest.mark.parametrize("every", [None, 2], ids=["after each epoch", "after rounds"])
def test_a_checkpoint_has_the_rates_that_a_listener_wishes_after_it(every, event, tmp_path):
    """Without intervals an evaluation inside an epoch writes nothing."""
    steering = Steering()
    writer = writer_for(tmp_path, every_rounds=every, steering=steering)
    train(writer, 2)
    steering.rate_factor = 0.5
    inside = {"round": 2} if event == "on_validation" else {}
    getattr(writer, event)(report(), state_of(CONF, seed=2, rounds=2, **inside))
    if every or event == "on_epoch":
        assert load_checkpoint(tmp_path)[1].rate_factor == 0.5
    else:
        assert names(tmp_path) == []


def test_at_the_end_of_an_epoch_a_checkpoint_is_written_anew_once(tmp_path):
    writer = writer_for(tmp_path, every_rounds=2)
    train(writer, 2)
    written = []
    writer.write = lambda conf, state, extra: written.append(state.rounds)
    writer.on_validation(report(), state_of(CONF, rounds=2))
    assert not written
    writer.on_epoch(report(), state_of(CONF, rounds=2))
    assert written == [2]


def test_a_checkpoint_is_a_model_with_state_and_extra(tmp_path):
    train(writer_for(tmp_path / "c", every_rounds=2), 3)
    for path in (tmp_path / "c", tmp_path / "c" / "round-00000002"):
        conf, state, extra = load_checkpoint(path)
        assert conf == CONF and extra == {"master": "averaging"}
        assert_equal(state, state_of(CONF, seed=2, rounds=2))


def with_damaged(folder, rounds, *damaged):
    """Writes `rounds` checkpoints to a folder, then empties a file of the damaged ones."""
    train(writer_for(folder, every_rounds=1), rounds)
    for number in damaged:
        (folder / f"round-0000000{number}" / "vectors.safetensors").write_bytes(b"")


def test_a_damaged_one_is_passed_over_with_a_warning(tmp_path, caplog):
    with_damaged(tmp_path, 3, 3)
    assert latest(tmp_path) == str(tmp_path / "round-00000002")
    assert "skipped a damaged checkpoint: " in caplog.text
    assert "round-00000003/vectors.safetensors: damaged, bytes is 0" in caplog.text
    assert load_checkpoint(tmp_path)[1].rounds == 2


def test_damaged_ones_make_way_for_the_fit_that_goes_on_before_them(tmp_path, caplog):
    with_damaged(tmp_path, 3, 2, 3)
    (tmp_path / "round-00000003").rename(tmp_path / ".round-00000003.old-0123abcd")
    resumed = writer_for(tmp_path, start=1, every_rounds=1)
    first, *others = names(tmp_path)
    assert first == "round-00000001" and len(others) == 2
    for number, name in enumerate(others, start=2):
        assert name.startswith(f"round-0000000{number}.damaged-") and name in caplog.text
    train(resumed, 2, start=1)
    assert load_checkpoint(tmp_path)[1].rounds == 3
    assert set(others) < set(names(tmp_path))


@pytest.mark.parametrize("start, damaged", [(0, [3]), (1, [1, 3])], ids=["a new fit", "another"])
def test_damaged_ones_of_another_run_are_named_as_such(start, damaged, tmp_path):
    with_damaged(tmp_path, 3, *damaged)
    for whole in {1, 2} - {start}:
        files.remove(tmp_path / f"round-0000000{whole}")
    message = f"3 is ahead of round {start}, .*, and is damaged \\(.*bytes is 0.*; remove it, or"
    with pytest.raises(CheckpointError, match=message):
        writer_for(tmp_path, start=start)
    assert "round-00000003" in names(tmp_path)


def test_nothing_is_moved_where_a_whole_one_is_ahead(tmp_path):
    with_damaged(tmp_path, 3, 2)
    with pytest.raises(CheckpointError, match="round-00000003 is ahead of round 1, .*; resume"):
        writer_for(tmp_path, start=1)
    assert names(tmp_path) == [f"round-0000000{number}" for number in (1, 2, 3)]


def test_if_all_are_damaged_each_is_named(tmp_path):
    train(writer_for(tmp_path, every_rounds=1), 2)
    os.remove(tmp_path / "round-00000001" / "manifest.json")
    (tmp_path / "round-00000002" / "network.json").write_bytes(b"")
    message = "no checkpoint is whole: .*round-00000002/network.json.*round-00000001: not a"
    with pytest.raises(CheckpointError, match=message):
        latest(tmp_path)


@pytest.mark.parametrize("folder", ["", "nowhere"])
def test_no_checkpoints(folder, tmp_path):
    (tmp_path / "round-1").mkdir()
    (tmp_path / "round-0000000x").mkdir()
    with pytest.raises(CheckpointError, match="there are no checkpoints"):
        latest(tmp_path / folder)


def test_ninety_nine_million_is_before_a_hundred_million(tmp_path):
    for rounds in (99_999_999, 100_000_000):
        save_model(tmp_path / f"round-{rounds:08d}", CONF, state_of(CONF, rounds=rounds))
    assert latest(tmp_path).endswith("round-100000000")


def test_a_resumed_fit_goes_on_in_the_same_folder(tmp_path):
    train(writer_for(tmp_path, every_rounds=2, keep=2), 4)
    resumed = writer_for(tmp_path, start=4, every_rounds=2, keep=2)
    assert resumed.last == str(tmp_path / "round-00000004")
    train(resumed, 2, start=4)
    assert names(tmp_path) == ["round-00000004", "round-00000006"]


def test_checkpoints_of_another_run_are_not_mixed_with(tmp_path):
    train(writer_for(tmp_path, every_rounds=2), 4)
    with pytest.raises(CheckpointError, match="round-00000004 is ahead of round 2, where this fit"):
        writer_for(tmp_path, start=2)
    with pytest.raises(CheckpointError, match="is ahead of round 0"):
        writer_for(tmp_path)
    assert names(tmp_path) == ["round-00000002", "round-00000004"]


def test_what_is_no_checkpoint_is_never_deleted(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    train(writer_for(tmp_path, every_rounds=1, keep=1), 3)
    assert names(tmp_path) == ["notes.txt", "round-00000003"]


def test_nothing_is_deleted_before_the_new_one_is_whole(tmp_path, monkeypatch):
    writer = writer_for(tmp_path, every_rounds=1, keep=1)
    train(writer, 1)

    def fail(*_, **__):
        raise OSError("no space")

    monkeypatch.setattr("sparkdl.training.saving.checkpoint.save_model", fail)
    with pytest.raises(OSError, match="no space"):
        train(writer, 1, start=1)
    assert load_checkpoint(tmp_path)[1].rounds == 1


@pytest.mark.parametrize("vector", ["params", "buffers"])
def test_a_diverged_state_is_not_written_and_the_last_good_one_named(vector, tmp_path):
    writer = writer_for(tmp_path, every_rounds=1, keep=1)
    bad = state_of(CONF, rounds=2)
    getattr(bad, vector)[1] = np.nan
    with pytest.raises(DivergedError, match="not finite after round 2; no checkpoint yet"):
        writer.on_round(report(), bad)
    train(writer, 1)
    with pytest.raises(DivergedError, match="the last good checkpoint is .*round-00000001"):
        writer.on_round(report(), bad)
    assert names(tmp_path) == ["round-00000001"]


def test_infinite_buffers_are_written_as_they_may_be_constants(tmp_path):
    writer, state = writer_for(tmp_path, every_rounds=1), state_of(CONF, rounds=2)
    state.buffers[1] = -np.inf
    writer.on_round(report(), state)
    assert_equal(load_checkpoint(tmp_path)[1], state)


BAD = {
    "no path": ({"path": ""}, "Checkpoints.path must be a path that is not empty, got ''"),
    "no rounds": ({"every_rounds": 0}, "every_rounds must be an integer >= 1 or None, got 0"),
    "part of a round": ({"every_rounds": 0.5}, "every_rounds must be an integer >= 1 or None"),
    "no minutes": ({"every_minutes": 0}, "every_minutes must be a number above 0 or None, got 0"),
    "none kept": ({"keep": 0}, "keep must be an integer >= 1, got 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_options_that_cannot_work_are_refused(name):
    changes, message = BAD[name]
    with pytest.raises(ConfigError, match=message):
        Checkpoints(**{"path": "c", **changes})


def test_one_that_stood_aside_when_its_fit_was_killed_is_used_and_put_back(tmp_path):
    train(writer_for(tmp_path, every_rounds=1, keep=1), 2)
    (tmp_path / "round-00000002").rename(tmp_path / ".round-00000002.old-0123abcd")
    assert load_checkpoint(tmp_path)[1].rounds == 2
    writer = writer_for(tmp_path, start=2)
    assert names(tmp_path) == ["round-00000002"] and writer.last.endswith("/round-00000002")


def test_what_killed_fits_were_writing_is_removed_by_the_next(tmp_path):
    folder = tmp_path / "c"
    train(writer_for(folder, every_rounds=1), 2)
    left = [".round-00000003.new-0123abcd", ".round-00000002.old-0123abcd"]
    kept = [".round-00000001.new-mine", ".other.old-0123abcd", "round-00000002"]
    for name in [*left, *kept]:
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "vectors.safetensors").touch()
    writer_for(folder, start=2)
    assert names(folder) == sorted([*kept, "round-00000001"])
