"""Searches on Spark: results, parallelism, resuming, and refusals."""

import sys
from dataclasses import dataclass

import numpy as np
import optuna
import pytest

from sparkdl.data import Arrays
from sparkdl.errors import ConfigError, DataError, UnsupportedError, WorkerError
from sparkdl.masters import AllReduceSGD
from sparkdl.nn import Embedding, NetworkConf, Output
from sparkdl.tune import Search
from sparkdl.tune.candidate import check_same_data
from sparkdl.tune.notebook import search_html
from tests.ml.frames import arrays
from tests.spark.slow import Slow
from tests.support.waiting import until
from tests.training.models import assert_equal
from tests.tune.spaces import GOOD, POOR, conf_of, data, define, states, study_of

OPTIONS = {"epochs": 3, "batch_size": 10, "device": "cpu"}
DIVERGES = 1e30


@dataclass(frozen=True)
class Meet(Slow):
    """Waits until two processes are here."""

    def __call__(self, batch):
        super().__call__(batch)
        until(lambda: len(self.processes()) > 1)
        return batch


def search_of(sc, *rates, **options):
    return Search(sc, define, study_of(*rates), **OPTIONS | options)


REFUSED = {
    "define": ({"define": 3}, "Search.define must be a function of an optuna.Trial, got 3"),
    "study": ({"study": "mine"}, "Search.study must be an optuna.Study, got 'mine'; optuna.create"),
    "epochs": ({"epochs": 0}, "Search.epochs must be an integer >= 1, got 0"),
    "batch_size": ({"batch_size": 0}, "Search.batch_size must be an integer >= 1 or None, got 0"),
    "monitor": ({"monitor": 3}, "Search.monitor must be the name of a figure, or None, got 3"),
    "mode": ({"mode": "most"}, "Search.mode must be one of"),
    "patience": ({"patience": -1}, "Search.patience must be an integer >= 0 or None, got -1"),
    "min_delta": ({"min_delta": -1.0}, "Search.min_delta must be a number >= 0, got -1.0"),
    "parallelism": ({"parallelism": 0}, "Search.parallelism must be an integer >= 1 or None"),
    "master": ({"master": "AllReduceSGD"}, "Search.master must be a TrainingMaster or None"),
    "both": (
        {"master": AllReduceSGD(), "parallelism": 2},
        "Search.parallelism must be 1 or None where trials have a master, got 2; each trial takes",
    ),
    "device": ({"device": "tpu"}, "Search.device must be one of"),
}
REFUSED_BY_FIT = {
    "trials": ({"trials": 0}, {}, ConfigError, "trials must be an integer >= 1, got 0"),
    "data": ({"data": arrays()}, {}, ConfigError, "data must be an RDD, a DataFrame or a source"),
    "a figure that is not there": (
        {},
        {"monitor": "validation acuracy"},
        ConfigError,
        "Search.monitor must be one of .'loss'., got 'validation acuracy'; give validation",
    ),
    "a study of the other direction": (
        {"validation_split": 0.2},
        {"monitor": "validation accuracy"},
        ConfigError,
        "Search.study must have the direction 'maximize' for 'validation accuracy', got 'minimize'",
    ),
    "no network": ({}, {"define": lambda trial: None}, ConfigError, "define must return a Network"),
    "unknown options": (
        {},
        {"define": lambda trial: (conf_of(GOOD), {"rate": 1})},
        ConfigError,
        "define must give options of .'epochs', 'batch_size'., got .'rate'.",
    ),
    "bad options": (
        {},
        {"define": lambda trial: (conf_of(GOOD), {"epochs": 0})},
        ConfigError,
        "Candidate.epochs must be an integer >= 1, got 0",
    ),
    "records": (
        {},
        {"define": lambda trial: conf_of(GOOD, units=2)},
        DataError,
        "label",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_option_is_refused(name, sc):
    options, message = REFUSED[name]
    with pytest.raises(ConfigError, match=message):
        Search(sc, **{"define": define} | options)


@pytest.mark.parametrize("name", REFUSED_BY_FIT)
def test_what_cannot_be_searched_is_refused(name, sc):
    given, options, kind, message = REFUSED_BY_FIT[name]
    study = study_of()
    with pytest.raises(kind, match=message):
        Search(sc, **{"define": define, "study": study} | options).fit(
            **{"data": data(), "trials": 2} | given
        )
    assert "COMPLETE" not in states(study)


def test_a_driver_without_optuna_is_told_what_to_install(sc, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'sparkdl-hadoop\[tune\]'"):
        Search(sc, define)


def test_networks_come_after_trials(sc):
    with pytest.raises(ConfigError, match="Search.fit must come first"):
        Search(sc, define).best_models()


def test_the_better_rate_is_found_on_data_that_was_read_once(sc):
    """A poor rate, one that diverges, and a good one, on an RDD that counts its reads."""
    read = sc.accumulator(0)

    def note(record):
        read.add(1)
        return record

    x, y = arrays(60)
    rdd = sc.parallelize(list(zip(x, y.tolist())), 3).map(note)
    search = search_of(sc, POOR, DIVERGES, GOOD)
    study = search.fit(rdd, 3, validation=data(30))
    assert states(study) == ["COMPLETE", "FAIL", "COMPLETE"]
    assert study.best_params == {"rate": GOOD}
    assert "DivergedError: loss" in study.trials[1].user_attrs["reason"]
    assert [len(trial.intermediate_values) for trial in study.trials] == [3, 0, 3]
    assert read.value == 60
    best, poor = search.best_models(2)
    figures = [network.evaluate(arrays(30)).loss for network in (best, poor)]
    np.testing.assert_allclose(figures, [study.trials[2].value, study.trials[0].value], rtol=1e-5)
    assert search._repr_html_() == search_html(study)
    assert list(search.table()["user_attrs_host"].notna()) == [True, False, True]
    with pytest.raises(ConfigError, match="n must be at most 2, got 3: so many trials were fin"):
        search.best_models(3)


@pytest.mark.parametrize("master", [None, AllReduceSGD(workers=2, device="cpu")])
def test_labels_that_teach_nothing_are_told_once_by_the_driver(master, sc, caplog, capfd):
    one_class = Arrays(arrays(60)[0], np.ones(60, int))
    options = {"epochs": 1, "device": "cpu" if master is None else "auto"}
    search_of(sc, GOOD, POOR, master=master, **options).fit(one_class, 2)
    assert sum("learns to predict nothing else" in text for text in caplog.messages) == 1
    assert "learns to predict nothing else" not in capfd.readouterr().err  # of the trials' tasks


def test_trials_run_side_by_side(sc, tmp_path):
    """Each trial waits for the other in the middle of a minibatch."""
    study = search_of(sc, GOOD, POOR).fit(data(transform=Meet(str(tmp_path))), 2)
    assert states(study) == ["COMPLETE", "COMPLETE"]


def test_a_pruned_trial_ends_and_frees_its_slot(sc):
    study = study_of(GOOD, POOR, GOOD)
    study.pruner = optuna.pruners.MedianPruner(n_startup_trials=1)
    search = Search(sc, define, study, parallelism=1, **OPTIONS)
    search.fit(data(), 3, validation=data(30))
    assert states(study) == ["COMPLETE", "PRUNED", "COMPLETE"]
    assert list(study.trials[1].intermediate_values) == [1]
    assert search.best_models(2)


def test_a_study_without_any_trial_that_ends_says_why(sc):
    with pytest.raises(WorkerError, match="all 2 trials have failed; trial 0: DivergedError: loss"):
        search_of(sc, DIVERGES, DIVERGES).fit(data(), 2)


def test_a_study_is_gone_on_with_from_its_storage(sc, tmp_path):
    """The first driver died in the middle of a trial."""
    storage, folder = f"sqlite:///{tmp_path}/study.db", tmp_path / "networks"
    first = study_of(GOOD, POOR, study_name="small", storage=storage)
    Search(sc, define, first, path=folder, **OPTIONS).fit(data(), 1)
    cut = first.ask()
    cut.set_user_attr("sparkdl", True)
    assert define(cut).optimizer.learning_rate == POOR
    loaded = study_of(GOOD, study_name="small", storage=storage, load_if_exists=True)
    search = Search(sc, define, loaded, path=folder, **OPTIONS)
    search.fit(data(), 3)
    assert states(loaded) == ["COMPLETE", "FAIL", "COMPLETE", "COMPLETE"]
    assert loaded.trials[3].params == {"rate": POOR}  # repeated
    number = len(loaded.trials)
    search.fit(data(), 3)
    assert len(loaded.trials) == number  # all were finished
    best, same, poor = search.best_models(3)
    assert_equal(best.state, same.state)  # of the first driver, and of the second
    assert best.evaluate(arrays(60)).loss < poor.evaluate(arrays(60)).loss
    with pytest.raises(ConfigError, match="Search.path must be a folder of this study, got"):
        Search(sc, define, study_of(GOOD), path=folder, **OPTIONS).fit(data(), 1)


def test_large_trials_take_all_slots_one_after_the_other(sc):
    study = study_of(GOOD, POOR)
    study.pruner = optuna.pruners.MedianPruner(n_startup_trials=1)
    search = Search(sc, define, study, master=AllReduceSGD(workers=2, device="cpu"), epochs=2)
    search.fit(data(), 2, validation=data(30))
    assert states(study) == ["COMPLETE", "PRUNED"]
    assert search.best_models()[0].evaluate(arrays(30)).loss == pytest.approx(study.best_value)


def test_networks_of_larger_vocabularies_take_the_same_records():
    def words(size):
        layers = [Embedding(vocabulary_size=size, units=2), Output(units=2)]
        return NetworkConf(input_shape=(1,), layers=layers)

    check_same_data(words(9), words(5), None)
    with pytest.raises(ConfigError, match="define must return networks of the same inputs"):
        check_same_data(words(9), conf_of(GOOD), None)


def test_networks_of_other_records_are_refused_by_name(sc):
    def other(trial):
        return conf_of(GOOD, units=3 + trial.number)

    with pytest.raises(ConfigError, match="define must return networks of the same inputs"):
        Search(sc, other, study_of(), parallelism=1, **OPTIONS).fit(data(), 2)
