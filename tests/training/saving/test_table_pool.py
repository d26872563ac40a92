"""Checkpoints share files of rows: each is copied once and deleted with its last user."""

import gc
import json
import shutil

import pytest

from sparkdl.data import files
from sparkdl.errors import CheckpointError, DataError
from sparkdl.training.reporting.counters import ENDING
from sparkdl.training.saving.checkpoint import (
    Checkpoints,
    CheckpointWriter,
    latest,
    load_checkpoint,
)
from sparkdl.training.saving.manifest import MANIFEST
from sparkdl.training.saving.model_directory import load_model, save_model
from sparkdl.training.saving.stored_tables import StoredTables
from sparkdl.training.saving.table_file import TableFile
from sparkdl.training.saving.table_pool import TablePool
from tests.support.tables import slow
from tests.training.models import state_of
from tests.training.reports import plan, report
from tests.training.saving.test_models_with_tables import CONF, FAR, far, rows_of, table_file

__all__ = ["far"]
FIRST = "round-00000001"


@pytest.fixture
def rows(tmp_path):
    """Four files: all rows, then changes."""
    ids = (range(20), range(5), range(5, 9), [7])
    return [table_file(tmp_path / f"rows-{number}", number, own) for number, own in enumerate(ids)]


@pytest.fixture(params=["local", "far"])
def folder(request, tmp_path):
    gc.collect()  # files that a state of an earlier test may read would stay
    return FAR if request.param == "far" else str(tmp_path / "checkpoints")


def tables(*shard):
    return StoredTables((tuple(shard),))


def writer(folder, keep=2, rounds=0):
    own = CheckpointWriter(Checkpoints(path=folder, every_rounds=1, keep=keep))
    own.on_fit_start(plan(conf=CONF, rounds=rounds))
    return own


def write(own, rounds, *shard, ending=None):
    own._extra = {} if ending is None else {ENDING: state_of(CONF, tables=tables(*ending))}
    own.on_round(report(), state_of(CONF, rounds=rounds, tables=tables(*shard)))


def pool(folder):
    """Returns the checksums of the files that checkpoints share."""
    return {name.partition(".")[0] for name in files.list(f"{folder}/tables")}


def digests(*shard):
    return {file.sha256 for file in shard}


@pytest.fixture
def copies(monkeypatch):
    """Collects the checksums of copied files, in order."""
    copied, copy_to = [], TableFile.copy_to
    monkeypatch.setattr(TableFile, "copy_to", lambda s, p: (copied.append(s.sha256), copy_to(s, p)))
    return copied


def flip(place):
    content = bytearray(files.open(place).read())
    content[-1] ^= 1
    files.write(place, bytes(content))


def test_only_what_is_new_is_copied(rows, folder, copies):
    own = writer(folder, keep=9)
    for number in range(1, 5):
        write(own, number, *rows[:number])
    assert copies == [file.sha256 for file in rows]
    assert pool(folder) == digests(*rows)
    for number in range(1, 5):
        _, state, _ = load_model(f"{folder}/round-{number:08d}")
        expected = dict.fromkeys(range(20), 0.0)
        for last, ids in enumerate((range(5), range(5, 9), [7])[: number - 1], start=1):
            expected |= dict.fromkeys(ids, float(last))
        assert rows_of(state.tables) == expected
        assert isinstance(state.tables, StoredTables) == (folder == FAR)
    manifest = json.loads(files.open(f"{folder}/{FIRST}/{MANIFEST}").read())
    assert manifest["version"] == 3
    assert files.list(f"{folder}/{FIRST}") == sorted(
        {MANIFEST, *manifest["files"]} - {"tables-00000-00000.safetensors"}
    )


def test_files_go_with_the_last_checkpoint_that_needs_them(rows, folder):
    own = writer(folder, keep=2)
    write(own, 1, rows[0])
    write(own, 2, *rows[:2], ending=[rows[3]])
    write(own, 3, rows[2])
    assert pool(folder) == digests(*rows)
    write(own, 4, rows[2])
    assert pool(folder) == digests(rows[2])
    own.on_round(report(), state_of(CONF, rounds=5))
    own.on_round(report(), state_of(CONF, rounds=6))
    assert pool(folder) == set()


@pytest.mark.slow
def test_files_that_this_process_may_read_stay(rows):
    """As those of a fit before, of which EarlyStopping has the state to end with."""
    own = writer(FAR, keep=1)
    write(own, 1, rows[0], ending=rows[:1])
    used = load_checkpoint(FAR)[1]  # the state alone, of a file that both have
    latest(FAR)
    gc.collect()
    for number in (2, 3):
        write(own, number, rows[1])
    assert pool(FAR) == digests(*rows[:2]) and rows_of(used.tables)[19] == 0
    del used
    gc.collect()
    write(own, 4, rows[1])
    assert pool(FAR) == digests(rows[1])


def test_a_resumed_fit_copies_nothing_again(rows, folder, copies):
    write(writer(folder), 1, *rows)
    _, state, _ = load_checkpoint(folder)
    del copies[:]
    own = writer(folder, rounds=1)
    own.on_round(report(), state_of(CONF, rounds=2, tables=state.tables))
    assert not copies and rows_of(load_checkpoint(folder)[1].tables) == rows_of(state.tables)


def test_a_model_of_its_own_is_whole_without_the_pool(rows, tmp_path):
    write(writer(FAR), 1, *rows)
    conf, state, _ = load_checkpoint(FAR)
    save_model(tmp_path / "model", conf, state)
    files.remove(FAR)
    assert rows_of(load_model(tmp_path / "model")[1].tables)[7] == 3


def test_a_checkpoint_that_is_moved_alone_says_what_it_misses(rows, tmp_path):
    write(writer(tmp_path / "here"), 1, *rows)
    shutil.copytree(tmp_path / "here", tmp_path / "all")
    shutil.move(tmp_path / "here" / FIRST, tmp_path / "alone")
    with pytest.raises(CheckpointError, match="tables/[0-9a-f]{64}.* no such .*the whole folder"):
        load_model(tmp_path / "alone")
    assert rows_of(load_checkpoint(tmp_path / "all")[1].tables)[7] == 3


@pytest.mark.parametrize("of", ["state", "ending"])
@pytest.mark.parametrize(
    "harm", [flip, slow(files.remove), slow(lambda place: files.write(place, b"short"))]
)
def test_one_whose_file_is_damaged_is_not_the_newest(harm, of, rows, folder):
    own = writer(folder)
    write(own, 1, rows[0])
    write(own, 2, rows[0], *rows[1:2] * (of == "state"), ending=rows[: 1 + (of == "ending")])
    harm(f"{folder}/tables/{rows[1].sha256}.safetensors")
    assert latest(folder).endswith(FIRST)


def test_a_file_that_was_cut_is_copied_anew(rows, folder):
    own = writer(folder)
    write(own, 1, rows[0])
    files.write(f"{folder}/tables/{rows[0].sha256}.safetensors", b"short")
    write(own, 2, *rows)
    assert latest(folder).endswith("round-00000002")


def test_a_damaged_file_of_a_fit_before_is_copied_anew(rows, folder):
    write(writer(folder), 1, rows[0])
    flip(f"{folder}/tables/{rows[0].sha256}.safetensors")
    with pytest.raises(CheckpointError, match="no checkpoint is whole"):
        latest(folder)
    write(writer(folder, rounds=1), 2, *rows)
    assert latest(folder).endswith("round-00000002")


def test_a_link_leads_to_the_files(rows, tmp_path):
    write(writer(tmp_path / "all"), 1, rows[0])
    (tmp_path / "best").symlink_to(tmp_path / "all" / FIRST)
    assert rows_of(load_model(tmp_path / "best")[1].tables)[7] == 0


def test_two_that_stood_aside_are_one(rows, tmp_path):
    own = writer(tmp_path)
    write(own, 1, rows[0])
    shutil.copytree(tmp_path / FIRST, tmp_path / f".{FIRST}.old-00000001")
    shutil.move(tmp_path / FIRST, tmp_path / f".{FIRST}.old-00000000")
    writer(tmp_path, rounds=1)
    assert sorted(path.name for path in tmp_path.glob("*round*")) == [FIRST]
    assert latest(tmp_path).endswith(FIRST)


def test_a_file_system_that_cannot_be_asked_leaves_files_for_later(rows, monkeypatch, caplog):
    own = writer(FAR, keep=1)
    write(own, 1, rows[0])

    def fail(self, wanted):
        raise DataError(f"{self.path}: cannot be listed: it sleeps")

    with monkeypatch.context() as patched:
        patched.setattr(TablePool, "prune", fail)
        write(own, 2, rows[1])
    assert "files of rows are left in memory://models/tables for now" in caplog.text
    assert pool(FAR) == digests(*rows[:2])
    write(own, 3, rows[1])
    assert pool(FAR) == digests(rows[1])


def test_nothing_goes_while_a_checkpoint_cannot_be_read(rows, folder):
    own = writer(folder)
    write(own, 1, rows[0])
    write(own, 2, rows[1])
    files.write(f"{folder}/round-00000002/{MANIFEST}", b"{")
    write(own, 3, rows[2])
    assert pool(folder) == digests(*rows[:3])
    write(own, 4, rows[2])
    assert pool(folder) == digests(rows[2])


def test_what_is_none_of_ours_is_never_deleted(rows, folder):
    files.write(f"{folder}/tables/notes.txt", b"mine")
    own = writer(folder, keep=1)
    write(own, 1, rows[0])
    write(own, 2, rows[1])
    assert pool(folder) == digests(rows[1]) | {"notes"}


def test_a_copy_that_was_not_finished_goes_at_the_next_fit(rows, folder):
    write(writer(folder), 1, rows[0])
    files.write(f"{folder}/tables/.{'0' * 64}.safetensors.new-01234567", b"half")
    writer(folder, rounds=1)
    assert pool(folder) == digests(rows[0])


def test_a_manifest_leads_to_files_of_checksums_alone(rows, folder):
    write(writer(folder), 1, rows[0])
    place = f"{folder}/{FIRST}/{MANIFEST}"
    manifest = json.loads(files.open(place).read())
    manifest["files"]["tables-00000-00000.safetensors"]["sha256"] = "../../secret"
    files.write(place, json.dumps(manifest).encode())
    with pytest.raises(CheckpointError, match="must have a SHA-256, got '../../secret'"):
        load_model(f"{folder}/{FIRST}")
