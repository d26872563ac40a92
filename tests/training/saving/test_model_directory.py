"""Models survive saving and loading; anything else in the folder is refused by name."""

import hashlib
import json
import os

import numpy as np
import pytest
import safetensors.numpy

from sparkdl.data import files
from sparkdl.errors import CheckpointError, ConfigError, DataError
from sparkdl.nn import Dense, NetworkConf, Output
from sparkdl.training.reporting.counters import ENDING
from sparkdl.training.saving import manifest
from sparkdl.training.saving.model_directory import load_model, save_model
from tests.training.models import assert_equal, small_conf, state_of

CONF = small_conf()
STATE = state_of(CONF, epoch=2, round=1, rounds=7, iteration=35)
EXTRA = {"master": {"averaging_frequency": 5}, "note": "ümlaut"}


@pytest.fixture
def path(tmp_path):
    """A saved model."""
    save_model(tmp_path / "model", CONF, STATE, EXTRA)
    return tmp_path / "model"


def test_a_model_comes_back(path):
    conf, state, extra = load_model(path)
    assert conf == CONF and extra == EXTRA
    assert_equal(state, STATE)
    state.params[0] = 1  # loaded arrays are writable


NO_PATHS = [
    (None, "path must be a text or a pathlib object, got None"),
    (3, "path must be a text or a pathlib object, got 3"),
    (b"x", "path must be a text or a pathlib object, got b'x'"),
    (["a"], "path must be a text or a pathlib object, got \\['a'\\]"),
    ("a\0b", "path must have no null character, got 'a"),
]


@pytest.mark.parametrize("path, said", NO_PATHS)
def test_what_is_no_path_is_refused(path, said):
    with pytest.raises(ConfigError, match=said):
        save_model(path, CONF, STATE)
    with pytest.raises(ConfigError, match=said):
        load_model(path)
    with pytest.raises(ConfigError, match=said):
        manifest.refuse_model(path)


def test_a_network_without_buffers_and_slots_comes_back(tmp_path):
    conf = NetworkConf(input_shape=(2,), layers=[Output(units=2)])
    save_model(tmp_path / "model", conf, state_of(conf))
    _, state, extra = load_model(str(tmp_path / "model"))
    assert len(state.buffers) == len(state.slots) == 0 and extra == {}


def test_what_a_master_keeps_comes_back(tmp_path):
    kept = {"velocity": np.arange(5.0), "center": np.ones(2, np.float32)}
    save_model(tmp_path / "model", CONF, state_of(CONF, master_state=kept))
    _, state, _ = load_model(tmp_path / "model")
    assert_equal(state, state_of(CONF, master_state=kept))
    assert set(state.master_state) == {"velocity", "center"}


def test_the_state_to_end_with_comes_back(tmp_path):
    kept = {"center": np.ones(2, np.float32)}
    ending = state_of(CONF, epoch=1, worker_states=(kept, kept), owner="a", rate_factor=0.5)
    save_model(tmp_path / "model", CONF, STATE, EXTRA | {ENDING: ending})
    _, state, extra = load_model(tmp_path / "model")
    assert_equal(extra.pop(ENDING), ending)
    assert_equal(state, STATE)
    assert extra == EXTRA


def test_not_finite_weights_come_back(tmp_path):
    state = state_of(CONF)
    state.params[:3] = np.nan, np.inf, -np.inf
    save_model(tmp_path / "model", CONF, state)
    assert_equal(load_model(tmp_path / "model")[1], state)


def test_the_directory_is_readable_without_us(path):
    assert sorted(os.listdir(path)) == [
        "manifest.json",
        "network.json",
        "training.json",
        "vectors.safetensors",
    ]
    manifest = json.loads((path / "manifest.json").read_text())
    assert manifest["format"] == "sparkdl" and manifest["version"] == 1
    assert manifest["packages"]["numpy"] == np.__version__
    assert sorted(os.listdir(path.parent)) == ["model"]  # no temporary file remains


# Damage


def cut(path):
    content = path.read_bytes()
    path.write_bytes(content[:-1])


def flip(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def lines(**changes):
    """Returns a function that changes fields of the manifest."""

    def change(path):
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def listing(files):
    """Returns a function that changes the manifest's list of files."""

    def change(path):
        manifest = json.loads(path.read_text())
        files(manifest["files"])
        path.write_text(json.dumps(manifest))

    return change


def forge(content):
    """Returns a function that writes other content and a matching manifest."""

    def change(path):
        path.write_bytes(content)
        entry = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        listing(lambda files: files.update({path.name: entry}))(path.parent / "manifest.json")

    return change


def vectors(**changes):
    arrays = {name: getattr(STATE, name) for name in ("params", "buffers", "slots")} | changes
    return safetensors.numpy.save({n: a for n, a in arrays.items() if a is not None})


def training(**changes):
    return json.dumps({"state": STATE.counters, "extra": {}} | changes).encode()


WHOLE = vectors()
N = CONF.parameter_count
OTHER = NetworkConf(input_shape=(4,), layers=[Dense(units=9), Output(units=2)])


def link_instead(path, target):
    path.unlink()
    path.symlink_to(target)


DAMAGE = {
    # file, damage, error
    "missing file": ("network.json", os.remove, r"model: network.json is missing; there are \["),
    "missing vectors": ("vectors.safetensors", os.remove, "vectors.safetensors is missing"),
    "missing manifest": ("manifest.json", os.remove, "not a sparkdl model, it has no manifest"),
    "cut short": ("vectors.safetensors", cut, r"damaged, bytes is \d+, its manifest says \d+"),
    "empty": ("training.json", lambda p: p.write_bytes(b""), r"training.json: damaged, bytes is 0"),
    "one bit": ("vectors.safetensors", flip, "vectors.safetensors: damaged, sha256 is"),
    "one bit of json": ("network.json", flip, "network.json: damaged, sha256 is"),
    "a file too many": ("notes.txt", lambda p: p.touch(), "notes.txt does not belong to the model"),
    "manifest no JSON": ("manifest.json", cut, r"manifest.json: must be JSON, got b'{"),
    "manifest no text": (
        "manifest.json",
        lambda p: p.write_bytes(b"\xff\xfe\x00"),
        "manifest.json: must be JSON",
    ),
    "manifest a list": ("manifest.json", lambda p: p.write_text("[1]"), "must be a JSON object"),
    "foreign manifest": ("manifest.json", lines(format="x"), "format must be 'sparkdl', got 'x'"),
    "manifest of nothing": (
        "manifest.json",
        lambda p: p.write_text("{}"),
        "format must be 'sparkdl', got None",
    ),
    "future version": (
        "manifest.json",
        lines(version=4),
        "has format version 4, this sparkdl reads versions up to 3; install a newer one",
    ),
    "version no number": ("manifest.json", lines(version="1"), "version must be an integer >= 1"),
    "version true": ("manifest.json", lines(version=True), "version must be an integer >= 1"),
    "no list of files": ("manifest.json", lines(files=[]), r"must list its files, got \[\]"),
    "file not listed": (
        "manifest.json",
        listing(lambda files: files.pop("network.json")),
        "network.json is missing",
    ),
    "entry no object": (
        "manifest.json",
        listing(lambda files: files.update({"network.json": 7})),
        "manifest.json: network.json must have bytes and sha256, got 7",
    ),
    # from here on, the manifest matches the file
    "header corrupt": (
        "vectors.safetensors",
        forge(WHOLE[:8] + b"!" + WHOLE[9:]),
        "vectors.safetensors: not a safetensors file, .*invalid JSON in header",
    ),
    "header length": (
        "vectors.safetensors",
        forge(b"\xff" * 8 + WHOLE[8:]),
        "vectors.safetensors: not a safetensors file, .*header",
    ),
    "body cut": (
        "vectors.safetensors",
        forge(WHOLE[:-4]),
        "vectors.safetensors: not a safetensors file",
    ),
    "vector missing": (
        "vectors.safetensors",
        forge(vectors(slots=None)),
        r"must hold \['params', 'buffers', 'slots'\], got \['buffers', 'params'\]",
    ),
    "params too long": (
        "vectors.safetensors",
        forge(vectors(params=np.zeros(N + 1, np.float32))),
        f"vectors.safetensors: network.json needs {N} numbers in params, got {N + 1}",
    ),
    "buffers too short": (
        "vectors.safetensors",
        forge(vectors(buffers=np.zeros(5, np.float32))),
        "vectors.safetensors: network.json needs 6 numbers in buffers, got 5",
    ),
    "slots of another optimizer": (
        "vectors.safetensors",
        forge(vectors(slots=np.zeros(2 * N, np.float32))),
        f"needs {N} numbers in slots, got {2 * N}",
    ),
    "matrix": (
        "vectors.safetensors",
        forge(vectors(params=STATE.params.reshape(1, -1))),
        rf"needs {N} numbers in params, got shape \(1, {N}\)",
    ),
    "other dtype": (
        "vectors.safetensors",
        forge(vectors(params=STATE.params.astype(np.float64))),
        "vectors.safetensors: network.json needs float32 in params, got float64",
    ),
    "another network": (
        "network.json",
        forge(OTHER.to_json().encode()),
        f"vectors.safetensors: network.json needs {OTHER.parameter_count} numbers in params",
    ),
    "network no JSON": ("network.json", forge(b"{"), "network.json: "),
    "network no text": ("network.json", forge(b"\xff"), "network.json: "),
    "unknown layer": (
        "network.json",
        forge(b'{"input_shape": [4], "layers": [{"type": "Warp", "units": 2}]}'),
        "network.json: .*Warp.*; import the module that defines it before, if it is your own$",
    ),
    "unknown loss by a word": (
        "network.json",
        forge(b'{"input_shape": [4], "layers": [{"type": "Output", "units": 2, "loss": "warp"}]}'),
        "network.json: .*got 'warp'.*; import the module that defines it before, if it is your own",
    ),
    "an option that cannot be": (
        "network.json",
        forge(b'{"input_shape": [4], "layers": [{"type": "Dense", "units": 0}]}'),
        "network.json: .*Dense.units must be an integer >= 1, got 0$",
    ),
    "training a list": ("training.json", forge(b"[]"), "training.json: must be a JSON object"),
    "no state": ("training.json", forge(training(state=None)), "training.json: state must have"),
    "a counter missing": ("training.json", forge(training(state={"epoch": 1})), "state must have"),
    "a counter negative": (
        "training.json",
        forge(training(state=STATE.counters | {"round": -1})),
        "training.json: TrainState.round must be an integer >= 0, got -1",
    ),
    "a counter of more than 64 bits": (
        "training.json",
        forge(training(state=STATE.counters | {"epoch": 2**64})),
        r"training.json: TrainState.epoch must be an integer below 2\^53",
    ),
    "a factor beyond floats": (
        "training.json",
        forge(training(rate_factor=10**400)),
        "training.json: TrainState.rate_factor must be a number that float32 has",
    ),
    "a worker's number of many digits": (
        "workers.safetensors",
        forge(safetensors.numpy.save({"9" * 5000 + ".a": np.zeros(1, np.float32)})),
        "workers.safetensors: names must begin with a worker's number, got '9999",
    ),
    "deep training": (
        "training.json",
        forge(b'{"state":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
        "training.json: must be JSON",
    ),
    "deep manifest": (
        "manifest.json",
        lambda path: path.write_bytes(b'{"files":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
        "manifest.json: must be JSON",
    ),
    "a manifest without end": (
        "manifest.json",
        lambda path: link_instead(path, "/dev/zero"),
        "manifest.json: must be a file, got a device",
    ),
    "a pipe": (
        "manifest.json",
        lambda path: (path.unlink(), os.mkfifo(path)),
        "manifest.json: must be a file, got a pipe",
    ),
    "a file without end": (
        "network.json",
        lambda path: link_instead(path, "/dev/zero"),
        "network.json: must be a file, got a device",
    ),
    "lengths that are none": (
        "manifest.json",
        lambda path: path.write_text(path.read_text().replace('"bytes": ', '"bytes": 1.')),
        "must have bytes and sha256, got",
    ),
    "extra no object": ("training.json", forge(training(extra=3)), "extra must be a JSON object"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_refused_by_name(name, path):
    file, damage, message = DAMAGE[name]
    damage(path / file)
    with pytest.raises(CheckpointError, match=message) as caught:
        load_model(path)
    assert str(path) in str(caught.value)


def test_a_pipe_in_place_of_rows_is_refused(path):
    os.mkfifo(path / "rows")
    entry = {"bytes": 0, "sha256": "0" * 64}
    listing(lambda files: files.update({"rows": entry}))(path / "manifest.json")
    with pytest.raises(CheckpointError, match="rows: must be a file, got a pipe"):
        list(manifest.read_directory(path, (), set(os.listdir(path)) - {"manifest.json"}))


def test_every_cut_of_every_file_is_refused(path):
    for file in sorted(os.listdir(path)):
        content = (path / file).read_bytes()
        for length in (0, 1, len(content) // 2, len(content) - 1):
            (path / file).write_bytes(content[:length])
            with pytest.raises(CheckpointError):
                load_model(path)
        (path / file).write_bytes(content)
    load_model(path)


def test_nothing_there_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="nowhere: there is no such model"):
        load_model(tmp_path / "nowhere")


def test_what_a_killed_run_left_beside_is_named(path):
    path.rename(path.parent / ".model.old-1a2b")
    with pytest.raises(CheckpointError, match="beside it are .*.model.old-1a2b.*rename the one"):
        load_model(path)


def test_another_file_system_works_the_same():
    path = "memory://models/digits/"
    save_model(path, CONF, state_of(CONF, seed=1))
    save_model(path, CONF, STATE)
    assert_equal(load_model(path)[1], STATE)
    files.remove("memory://models")
    with pytest.raises(CheckpointError, match="memory://models/digits: there is no such model"):
        load_model(path)


def test_a_file_that_cannot_be_read_is_named(path, monkeypatch):
    def fail(*_):
        raise DataError("manifest.json: cannot be opened: Permission denied")

    monkeypatch.setattr(files, "open", fail)
    with pytest.raises(CheckpointError, match="cannot be opened: Permission denied"):
        load_model(path)


def test_a_file_is_refused(tmp_path):
    (tmp_path / "weights.bin").write_bytes(b"1")
    with pytest.raises(CheckpointError, match=r"weights.bin: not a sparkdl model"):
        load_model(tmp_path / "weights.bin")


def test_files_of_the_system_are_no_damage(path):
    (path / ".network.json.crc").write_bytes(b"crc")
    assert load_model(path)[0] == CONF


# Saving destroys nothing


def refused(path, message, state=STATE, **changes):
    with pytest.raises(CheckpointError, match=message):
        save_model(path, CONF, state, **changes)


def test_a_model_is_replaced(path):
    newer = state_of(CONF, seed=9)
    save_model(path, CONF, newer)
    assert_equal(load_model(path)[1], newer)
    assert os.listdir(path.parent) == ["model"]


def test_an_empty_directory_may_be_used(tmp_path):
    save_model(tmp_path, CONF, STATE)
    assert load_model(tmp_path)[0] == CONF


@pytest.mark.slow
def test_a_foreign_directory_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    refused(tmp_path, "not a sparkdl model, it has no manifest.json")
    assert os.listdir(tmp_path) == ["thesis.tex"]


def test_a_file_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    refused(tmp_path / "thesis.tex", "not a sparkdl model")
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_what_was_put_beside_a_model_is_left_alone(path):
    (path / "notes.txt").write_text("mine")
    refused(path, "notes.txt is no part of the model there and would be lost")
    assert (path / "notes.txt").read_text() == "mine"


def test_a_model_of_a_later_version_is_left_alone(path):
    lines(version=4)(path / "manifest.json")
    refused(path, "format version 4")


def test_a_damaged_model_may_be_replaced(path):
    cut(path / "vectors.safetensors")
    save_model(path, CONF, STATE)
    assert_equal(load_model(path)[1], STATE)


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}], ids=["object", "nan", "set"])
def test_extra_that_is_no_json_is_refused(value, path):
    refused(path, "extra must be JSON values", state=state_of(CONF, seed=1), extra={"x": value})
    assert_equal(load_model(path)[1], STATE)


def test_a_state_of_another_network_is_refused(path):
    refused(path, f"the state: network.json needs {N} numbers in params", state=state_of(OTHER))
    assert_equal(load_model(path)[1], STATE)


def test_a_failure_in_the_middle_leaves_the_old_model(path, monkeypatch):
    """The disk is full after the first file."""
    whole, written = files.open, []

    def opened(file, mode):
        if mode == "wb" and written:
            raise OSError(28, "No space left on device")
        written.extend([file] if mode == "wb" else [])
        return whole(file, mode)

    monkeypatch.setattr(files, "open", opened)
    refused(path, "training.json: cannot be written: No space left", state_of(CONF, seed=1))
    assert_equal(load_model(path)[1], STATE)
    assert os.listdir(path.parent) == ["model"]


def test_what_the_disk_lost_does_not_replace_the_old_model(path, monkeypatch):
    """A file system that falsely reports a complete write."""
    whole = manifest._write
    monkeypatch.setattr(manifest, "_write", lambda file, content: whole(file, content[:100]))
    with pytest.raises(CheckpointError):
        save_model(path, CONF, state_of(CONF, seed=1))
    assert_equal(load_model(path)[1], STATE)


def test_a_network_that_does_not_come_back_is_refused(path, monkeypatch):
    other = OTHER.to_json()
    monkeypatch.setattr(NetworkConf, "to_json", lambda conf: other)
    refused(path, "the network must survive its JSON")
    assert load_model(path)[0] == CONF
