"""Run configurations: the files in conf/, refused ones, and the location in error messages."""

from pathlib import Path

import pytest

from sparkdl.commands import demo_run
from sparkdl.commands.options import run_conf
from sparkdl.commands.options.run_conf import RunConf, SparkOptions
from sparkdl.data import Digits
from sparkdl.errors import CheckpointError, ConfigError, DataError
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.masters.registry import MASTERS
from sparkdl.training.saving.checkpoint import Checkpoints

CONF = Path(__file__).resolve().parents[3] / "conf"

SMALL = """
network: {input_shape: [1, 28, 28], layers: [{type: Output, units: 10}]}
training: {type: ParameterAveraging, workers: 1}
data: {train: {type: Digits, records: 100}}
output: model
"""


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(SMALL)
    return str(path)


@pytest.mark.parametrize("path", sorted(CONF.glob("*.yaml")), ids=lambda path: path.name)
def test_shipped_file_is_sound(path):
    assert isinstance(RunConf.read(path), RunConf)


def test_lenet_file_is_the_demo_s_run():
    conf, demo = RunConf.read(CONF / "lenet.yaml"), demo_run.run("lenet-model")
    assert conf.network == demo.network
    assert (conf.training, conf.data, conf.epochs) == (demo.training, demo.data, demo.epochs)
    assert conf.spark.master == demo.spark.master


def test_every_section_becomes_its_dataclass(written):
    settings = ["checkpoints.path=here", "checkpoints.keep=1", "spark.config.spark.x=1"]
    conf = RunConf.read(written, [*settings, "epochs=4"])
    assert conf.training == ParameterAveraging(workers=1)
    assert conf.data.train == Digits(records=100)
    assert conf.data.validation is None
    assert conf.checkpoints == Checkpoints(path="here", keep=1)
    assert conf.spark == SparkOptions(config={"spark.x": 1})
    assert (conf.epochs, conf.output) == (4, "model")


def test_later_settings_win(written):
    assert RunConf.read(written, ["epochs=4", "epochs=5"]).epochs == 5


def test_masters_are_named_by_their_classes():
    assert all(kind.__name__ == name for name, kind in MASTERS.items())


REFUSED = [
    ("epoch=3", "RunConf has no field 'epoch'; did you mean 'epochs'?"),
    ("trainin.workers=3", "RunConf has no field 'trainin'; did you mean 'training'?"),
    ("training.worker=3", "training: ParameterAveraging has no field 'worker'; did you mean"),
    ("training.workers=0", "training: ParameterAveraging.workers must be an integer >= 1"),
    ("training.type=ParameterAverage", "did you mean 'ParameterAveraging'?"),
    ("training=fast", "training: type must be one of AllReduceSGD, BlockMomentum, "),
    ("network.layers.0.unit=3", "network: NetworkConf.layers[0]: Output has no field 'unit'; did"),
    ("network.sed=3", "network: NetworkConf has no field 'sed'; did you mean 'seed'?"),
    (
        "network=null",
        "network: a network needs a mapping of options, got None",
    ),
    ("data.tests.type=Digits", "data: DataSets has no field 'tests'"),
    (
        "data.train.part=exam",
        "data: DataSets.train: Digits.part must be 'train' or 'test', got 'exam'",
    ),
    ("data={}", "data: DataSets needs the field 'train'"),
    (
        "checkpoints.path=",
        "checkpoints: Checkpoints.path must be a path that is not empty, got None",
    ),
    ("checkpoints.evry_rounds=3", "did you mean 'every_rounds'?"),
    ("spark.mastr=yarn", "spark: SparkOptions has no field 'mastr'; did you mean 'master'?"),
    ("spark.master=", "spark: SparkOptions.master must be a Spark master that is not empty, got"),
    ("spark.config=[1]", "spark: SparkOptions.config must be a mapping"),
    ("epochs=0", "RunConf.epochs must be an integer >= 1, got 0"),
    ("epochs=many", "RunConf.epochs must be an integer >= 1, got 'many'"),
    ("output=", "RunConf.output must be a path that is not empty, got None"),
]


@pytest.mark.parametrize("setting, message", REFUSED)
def test_option_is_refused_with_file_and_section(written, setting, message):
    with pytest.raises(ConfigError) as error:
        RunConf.read(written, [setting])
    assert str(error.value).startswith(f"{written}: ")
    assert message in str(error.value)


def test_missing_section_is_named(tmp_path):
    (tmp_path / "run.yaml").write_text("epochs: 1\n")
    with pytest.raises(ConfigError, match="RunConf needs the field 'network'"):
        RunConf.read(tmp_path / "run.yaml")


def test_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match="none.yaml: there is no such file"):
        RunConf.read(tmp_path / "none.yaml")


@pytest.mark.parametrize("content", ["- 1\n", "epochs: [", "epochs: 1\nepochs: 2\n", "\x00"])
def test_file_that_is_no_mapping_is_refused(tmp_path, content):
    (tmp_path / "run.yaml").write_text(content)
    with pytest.raises(ConfigError, match="run.yaml: "):
        RunConf.read(tmp_path / "run.yaml")


def test_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "run.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="run.yaml: must be text"):
        RunConf.read(tmp_path / "run.yaml")


def test_missing_data_comes_up_before_spark_starts(written):
    conf = RunConf.read(written, ["data.validation={type: LMDB, path: /nowhere}"])
    with pytest.raises(DataError, match="/nowhere: there is no such file or folder"):
        conf.check()


@pytest.mark.parametrize(
    "output, path, refused",
    [
        ("m", "m", True),
        ("./m/", "m", True),
        ("m", "m/points", True),
        ("m", "link/points", True),
        ("hdfs:///m", "hdfs:///m/points", True),
        ("m/model", "m", False),
        ("m", "m-points", False),
    ],
)
def test_nothing_else_is_written_into_the_folder_of_the_model(
    written, tmp_path, monkeypatch, output, path, refused
):
    """The model was lost when a fit of hours had ended: it would have replaced the others."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run_conf, "refuse_to_destroy", str)
    (tmp_path / "link").symlink_to("m")
    conf = RunConf.read(written, [f"output={output}", f"checkpoints={{path: {path!r}}}"])
    if refused:
        with pytest.raises(ConfigError, match="checkpoints.path must be outside of"):
            conf.check()
    else:
        conf.check()


def test_output_that_would_be_destroyed_comes_up_before_spark_starts(written, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    conf = RunConf.read(written, [f"output={tmp_path / 'notes'}"])
    with pytest.raises(CheckpointError, match="not a sparkdl model"):
        conf.check()
