"""No two fits of a process share a folder of checkpoints, whoever begins them."""

import gc

import pytest
from pyspark.ml import Pipeline
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import functions as F

from sparkdl.errors import ConfigError
from sparkdl.ml import SparkNetworkClassifier
from sparkdl.ml.checkpoint_folders import claimed_folder, folder_to_resume
from sparkdl.training.saving.checkpoint import Checkpoints, list_checkpoints
from tests.ml.conftest import SMALL
from tests.ml.frames import classes_conf
from tests.training.models import assert_equal

MESSAGE = "Owner.checkpoints must be in a folder that no other fit of this process has"


def claim(folder):
    return claimed_folder("Owner", Checkpoints(path=str(folder)))


def save_in(folder):
    """Leaves something by the name of a checkpoint."""
    (folder / "round-00000001").mkdir(parents=True)


def test_a_running_fit_keeps_others_out(tmp_path, monkeypatch):
    with claim(tmp_path / "a"), claim(tmp_path / "b"):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(ConfigError, match=f"{MESSAGE}, got .*/a', where one runs; give each"):
            with claim("a/"):
                pass


def test_an_interrupted_fit_leaves_its_folder_free(tmp_path):
    for _ in range(2):
        with pytest.raises(KeyError), claim(tmp_path):
            save_in(tmp_path / "once") if not (tmp_path / "once").exists() else None
            raise KeyError


def test_a_complete_fit_keeps_its_folder_until_its_checkpoints_are_removed(tmp_path):
    with claim(tmp_path):
        save_in(tmp_path)
    with pytest.raises(ConfigError, match=f"{MESSAGE}, got .* where one has ended"):
        with claim(tmp_path):
            pass
    (tmp_path / "round-00000001").rmdir()
    with claim(tmp_path):
        pass


def test_without_checkpoints_there_is_nothing_to_share():
    with claimed_folder("Owner", None), claimed_folder("Owner", None):
        assert folder_to_resume("Owner", None, False) is None


def test_a_fit_begins_where_there_is_nothing_to_resume(tmp_path):
    given = Checkpoints(path=str(tmp_path / "new"))
    assert folder_to_resume("Owner", given, True) is None
    save_in(tmp_path / "new")
    assert folder_to_resume("Owner", given, True) == str(tmp_path / "new")
    assert folder_to_resume("Owner", given, False) is None


def refusal(estimator, grid, data):
    """Returns the error of a cross-validation, whose pool of threads is gone by then."""
    with pytest.raises(ConfigError) as caught:
        cross_validate(estimator, grid, data)
    message = str(caught.value)
    del caught
    gc.collect()
    return message


def cross_validate(estimator, grid, data):
    folds = data.withColumn("fold", (F.col("id") % 2).cast("int"))  # 30 rows each
    options = {"estimatorParamMaps": grid, "evaluator": MulticlassClassificationEvaluator()}
    CrossValidator(estimator=estimator, numFolds=2, foldCol="fold", **options).fit(folds)


@pytest.mark.filterwarnings("ignore:unclosed running multiprocessing pool:ResourceWarning")
@pytest.mark.parametrize("resume", [False, True])
def test_folds_never_go_on_from_each_others_weights(resume, data, tmp_path):
    """The second fit of a cross-validation has as many rows as the first, but others."""
    given = {"checkpoints": Checkpoints(path=str(tmp_path)), "resume": resume}
    one = SparkNetworkClassifier(network=classes_conf(), **given, **SMALL)
    grid = ParamGridBuilder().addGrid(one.maxIter, [1]).build()
    assert "checkpoints must be in a folder for each param map, got" in refusal(one, grid, data)
    assert not list_checkpoints(tmp_path)
    message = refusal(Pipeline(stages=[one]), grid, data)
    assert "that no other fit of this process has" in message and "one has ended" in message


def test_each_param_map_may_have_its_own_folder(data, tmp_path):
    one = SparkNetworkClassifier(network=classes_conf(), seed=1, **SMALL)
    places = [Checkpoints(path=str(tmp_path / name)) for name in "ab"]
    models = one.fit(data, [{one.checkpoints: place, one.maxIter: 1} for place in places])
    assert_equal(models[0].network.state, models[1].network.state)
    assert [len(list_checkpoints(place.path)) for place in places] == [1, 1]
    with pytest.raises(ConfigError, match="must be in a folder for each param map, got"):
        one.fit(data, [{one.checkpoints: places[0]}] * 2)
