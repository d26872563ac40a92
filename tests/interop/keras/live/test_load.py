"""Which backend Keras is loaded with, here and in new processes."""

import os
import pickle
import subprocess
import sys

import pytest

from sparkdl.errors import ConfigError
from sparkdl.interop.keras.live import KerasModel, KerasPredictor, load
from sparkdl.nn import conf_from_json
from tests.interop.keras.live.models import SIDE, cnn, model
from tests.interop.keras.models import keras

HERE = keras.backend.backend()
ELSEWHERE = next(name for name in load.BACKENDS if name != HERE)
PROGRAM = """
import os, sys
from sparkdl.interop.keras.live.load import load_keras
print(load_keras(*sys.argv[1:]).backend.backend(), os.environ["TF_NUM_INTRAOP_THREADS"])
"""


def loaded(*arguments, **environment):
    env = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"}
    program = sys.executable, "-c", PROGRAM, *arguments
    return subprocess.run(program, env=env | environment, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_a_process_loads_the_one_that_is_named_whatever_its_environment_says():
    found = loaded(HERE, KERAS_BACKEND=ELSEWHERE, OMP_NUM_THREADS="3")
    assert found == f"{HERE} 3\n"


@pytest.mark.parametrize("there", [False, True])
def test_one_that_has_no_gradients_is_refused(monkeypatch, there):
    monkeypatch.setenv("KERAS_BACKEND", "numpy")
    monkeypatch.setattr(keras.backend, "backend", lambda: "numpy")
    if not there:
        monkeypatch.delitem(sys.modules, "keras")
    with pytest.raises(ConfigError, match="must be one of jax, tensorflow, torch"):
        load.load_keras()
    assert ("keras" in sys.modules) == there  # the refusal does not load it


def test_one_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setattr(load, "find_spec", lambda name: None)
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    assert load.chosen_backend() == "jax"
    monkeypatch.setattr(load, "find_spec", lambda name: name == "torch")
    assert load.chosen_backend() == "torch"
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    assert load.chosen_backend() == "tensorflow"


@pytest.mark.slow
def test_models_go_to_executors_with_the_drivers_backend():
    conf = model()
    assert conf.backend == HERE and pickle.loads(pickle.dumps(conf)).backend == HERE
    assert KerasPredictor(cnn)._backend == HERE


def test_a_document_is_of_no_backend():
    conf = model()
    assert "backend" not in conf.to_json()
    again = conf_from_json(conf.to_json())
    assert again == conf and again.backend == HERE


def test_a_backend_that_is_missing_changes_no_environment(monkeypatch):
    for name in ("keras", "torch"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setenv("KERAS_BACKEND", HERE)
    with pytest.raises(ConfigError, match="needs Keras and torch in each process"):
        load.load_keras("torch")
    assert os.environ["KERAS_BACKEND"] == HERE


def test_another_than_that_of_the_process_is_refused():
    said = (
        f"KerasModel.backend must be the backend of Keras in each process, got '{ELSEWHERE}' where"
    )
    with pytest.raises(ConfigError, match=said):
        KerasModel(make=cnn, input_shape=(SIDE, SIDE, 1), backend=ELSEWHERE)
    with pytest.raises(ConfigError, match="KerasModel.backend must be"):
        KerasModel(make=cnn, input_shape=(SIDE, SIDE, 1), backend="numpy")
