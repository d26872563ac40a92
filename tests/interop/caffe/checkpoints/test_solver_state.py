"""Solver states: read in both formats, written bit for bit, or refused."""

import h5py
import numpy as np
import pytest

from sparkdl.errors import CheckpointError
from sparkdl.interop.caffe.checkpoints.solver_state import (
    SolverState,
    read_solver_state,
    write_solver_state,
)
from sparkdl.interop.caffe.checkpoints.weights import write_weights
from tests.interop.caffe import wire

FORMATS = ["s.solverstate", "s.solverstate.h5"]
HISTORY = (np.arange(6, dtype="f").reshape(2, 3), np.float32([0.1, np.nan]), np.ones((1, 2)))
STATE = SolverState(iteration=500, current_step=2, weights="s.caffemodel", history=HISTORY)


@pytest.mark.parametrize("name", FORMATS)
def test_every_bit_survives(tmp_path, name):
    write_solver_state(tmp_path / name, STATE)
    found = read_solver_state(tmp_path / name)
    assert (found.iteration, found.current_step, found.weights) == (500, 2, "s.caffemodel")
    assert [(x.shape, x.dtype, x.tobytes()) for x in found.history] == [
        (x.shape, x.dtype, x.tobytes()) for x in HISTORY
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_more_updates_than_caffe_counts_are_refused(tmp_path, name):
    with pytest.raises(CheckpointError, match=f"{name}: updates done must be at most 2147483647"):
        write_solver_state(tmp_path / name, SolverState(iteration=2**31))
    assert not (tmp_path / name).exists()


def test_it_is_written_as_caffe_writes_it(tmp_path):
    state = SolverState(iteration=300, history=(np.float32([1, 2]),), current_step=1, weights="w")
    write_solver_state(tmp_path / "s", state)
    blob = wire.field(5, wire.floats(1, 2)) + wire.shape(2)
    wanted = wire.field(1, 300) + wire.field(2, "w") + wire.field(3, blob) + wire.field(4, 1)
    assert (tmp_path / "s").read_bytes() == wanted


def test_hdf5_has_caffes_form(tmp_path):
    write_solver_state(tmp_path / "s.h5", STATE)
    with h5py.File(tmp_path / "s.h5") as file:
        assert [file[key][()].tolist() for key in ("iter", "current_step")] == [[500], [2]]
        assert file["learned_net"][()] == b"s.caffemodel"
        assert list(file["history"]) == ["0", "1", "2"]


def test_a_state_need_say_no_more_than_its_updates(tmp_path):
    (tmp_path / "s").write_bytes(wire.field(1, 7))
    found = read_solver_state(tmp_path / "s")
    assert (found.iteration, found.history, found.weights) == (7, (), "")


def changed(**values):
    def change(file):
        for key, value in values.items():
            del file[key]
            if value is not None:
                file[key] = value

    return change


HOSTILE = {
    "nothing": (b"", "SolverState of Caffe"),
    "text": (b"iter: 500", "SolverState of Caffe"),
    "no updates": (wire.field(4, 1), "number of updates"),
    "fewer updates than none": (wire.field(1, -1), "at least 0"),
    "a blob that lacks numbers": (
        wire.field(1, 1) + wire.field(3, wire.shape(3)),
        "history 0: a blob of shape",
    ),
    "HDF5 without a history": (changed(history=None), "'history'"),
    "HDF5 with a text for updates": (changed(iter="many"), "iter must be one whole number"),
    "HDF5 with parts of updates": (changed(iter=[0.5]), "iter must be one whole number"),
    "HDF5 with a group for updates": (
        lambda file: (changed(iter=None)(file), file.create_group("iter")),
        "iter must be one whole number",
    ),
    "HDF5 with a number for its weights": (changed(learned_net=3), "learned_net must be a text"),
    "HDF5 with no text for its weights": (
        changed(learned_net=np.bytes_(b"\xff\xfe")),
        "learned_net must be a text",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_state_is_refused(tmp_path, name):
    content, words = HOSTILE[name]
    path = tmp_path / ("s" if isinstance(content, bytes) else "s.h5")
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        write_solver_state(path, STATE)
        with h5py.File(path, "r+") as file:
            content(file)
    with pytest.raises(CheckpointError, match=f"{path}.*{words}"):
        read_solver_state(path)


def test_weights_are_no_state(tmp_path):
    for name in ("net", "net.h5"):
        write_weights(tmp_path / name, {"one": [np.ones(2, "f")]})
        with pytest.raises(CheckpointError, match="net"):
            read_solver_state(tmp_path / name)
