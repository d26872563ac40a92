"""An interrupted fit goes on from its checkpoints, also in a Pipeline; resources of its tasks."""

import json

import pytest
from pyspark.ml import Pipeline
from pyspark.ml.feature import Normalizer
from pyspark.resource import ResourceProfileBuilder, TaskResourceRequests

from sparkdl.errors import CheckpointError, ConfigError
from sparkdl.ml import SparkNetworkClassifier
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.saving.checkpoint import Checkpoints, list_checkpoints
from tests.ml.conftest import SMALL
from tests.ml.frames import classes_conf, values_conf
from tests.training.models import assert_equal


class Stop(Exception):
    """Interrupts a fit."""


class StopAfterEpoch(Listener):
    """Raises an error after an epoch; counts those that it hears of."""

    def __init__(self, epoch=None):
        self.epoch, self.heard = epoch, 0

    def on_epoch(self, report, state):
        self.heard += 1
        if state.epoch == self.epoch:
            raise Stop


def fit(data, folder=None, stop=None, **params):
    """Returns the network that a Pipeline fits, and the epochs that it trained."""
    listener = StopAfterEpoch(stop)
    if folder is not None:
        params["checkpoints"] = Checkpoints(path=str(folder))
    options = {"maxIter": 3, "seed": 6, "listeners": [listener], **SMALL} | params
    one = SparkNetworkClassifier(network=classes_conf(), featuresCol="scaled", **options)
    stages = [Normalizer(inputCol="features", outputCol="scaled"), one]
    network = Pipeline(stages=stages).fit(data).stages[-1].network
    return network, listener.heard


@pytest.fixture(scope="module")
def undisturbed(data):
    return fit(data)[0]


def test_an_interrupted_pipeline_goes_on_with_the_same_bits(undisturbed, data, tmp_path):
    folder = tmp_path / "new"
    with pytest.raises(Stop):
        fit(data, folder, stop=1, resume=True)  # there is no folder yet: the fit begins
    assert len(list_checkpoints(folder)) == 1
    network, heard = fit(data, folder, resume=True)
    assert heard == 2
    assert_equal(network.state, undisturbed.state)


@pytest.mark.slow
def test_early_stopping_goes_on_counting(data, tmp_path):
    params = {"validationIndicatorCol": "apart", "validateEvery": 2, "patience": 50}
    params |= {"restoreBestWeights": True, "weightCol": "w"}
    whole, _ = fit(data, **params)
    assert [v.iteration for v in whole.history.validations][:4] == [2, 4, 6, 8]
    with pytest.raises(Stop):
        fit(data, tmp_path, stop=1, **params)
    assert_equal(fit(data, tmp_path, resume=True, **params)[0].state, whole.state)


def test_a_fit_that_was_complete_gives_its_weights_again(undisturbed, data, tmp_path):
    saved, _ = fit(data, tmp_path / "first")
    (tmp_path / "first").rename(tmp_path / "again")  # as after another start of the program
    network, heard = fit(data, tmp_path / "again", resume=True)
    assert heard == 0
    assert_equal(network.state, saved.state)
    assert_equal(network.state, undisturbed.state)


def test_checkpoints_are_not_overwritten_by_a_fit_that_begins(data, tmp_path):
    with pytest.raises(Stop):
        fit(data, tmp_path, stop=1)
    with pytest.raises(CheckpointError, match="is ahead of round 0, where this fit starts; resume"):
        fit(data, tmp_path)


def test_the_folder_of_another_network_is_refused(data, tmp_path):
    with pytest.raises(Stop):
        fit(data, tmp_path, stop=1)
    with pytest.raises(CheckpointError, match="holds another network than the one to be trained"):
        fit(data, tmp_path, resume=True, seed=7)


def test_damaged_checkpoints_do_not_count_as_none(data, tmp_path):
    with pytest.raises(Stop):
        fit(data, tmp_path, stop=1)
    for file in next(tmp_path.iterdir()).iterdir():
        file.write_bytes(b"")
    with pytest.raises(CheckpointError, match="no checkpoint is whole"):
        fit(data, tmp_path, resume=True)


def test_only_a_fit_with_checkpoints_is_resumed(data):
    must = "SparkNetworkClassifier.resume must be False where there are no checkpoints, got True"
    with pytest.raises(ConfigError, match=must):
        fit(data, resume=True)


def test_evaluations_between_epochs_need_rows(data):
    with pytest.raises(ConfigError, match="validateEvery must be left out where nothing is evalua"):
        fit(data, validateEvery=2)
    with pytest.raises(ConfigError, match="validateEvery must be an integer >= 1, got 0"):
        fit(data, validateEvery=0, validationSplit=0.5)


def test_tasks_have_the_resources_of_a_profile(data, sc, tmp_path):
    requests = TaskResourceRequests().cpus(1)
    profile = ResourceProfileBuilder().require(requests).build
    one = SparkNetworkClassifier(network=classes_conf(), resources=profile)
    assert one.copy().getResources() is profile
    one.save(str(tmp_path / "stage"))
    assert SparkNetworkClassifier.load(str(tmp_path / "stage")).getResources() is None
    with pytest.raises(TypeError, match="resources must be a pyspark.resource.ResourceProfile"):
        SparkNetworkClassifier(resources=4)


def test_checkpoints_are_written_with_their_stage(sc, tmp_path):
    given = Checkpoints(path="/some/where", every_rounds=5)
    one = SparkNetworkClassifier(network=values_conf(), checkpoints=given, resume=True)
    one.save(str(tmp_path / "stage"))
    again = SparkNetworkClassifier.load(str(tmp_path / "stage"))
    assert (again.getCheckpoints(), again.getResume()) == (given, True)
    assert SparkNetworkClassifier().getCheckpoints() is None
    assert SparkNetworkClassifier(checkpoints=None).getCheckpoints() is None
    text = json.dumps({"path": "/other"})
    assert SparkNetworkClassifier(checkpoints=text).getCheckpoints() == Checkpoints(path="/other")
    with pytest.raises(TypeError, match="checkpoints must be Checkpoints or their JSON, got 5; gi"):
        SparkNetworkClassifier(checkpoints=5)
