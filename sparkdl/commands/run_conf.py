"""A whole run as a file says it: network, training, data, epochs, where things go, Spark."""

from dataclasses import dataclass, field, fields

from sparkdl.commands.data_conf import DataConf
from sparkdl.commands.settings import apply
from sparkdl.config import Config, build, of, suggestion, text
from sparkdl.data import files
from sparkdl.errors import ConfigError, SparkdlError, require
from sparkdl.nn import Conf, conf_from_dict
from sparkdl.nn.checks import is_integer
from sparkdl.spark.session import TWO_EXECUTORS
from sparkdl.training.averaging import ParameterAveraging
from sparkdl.training.checkpoint import Checkpoints
from sparkdl.training.manifest import refuse_to_destroy
from sparkdl.training.master import TrainingMaster
from sparkdl.training.masters import MASTERS


@dataclass(frozen=True, kw_only=True)
class DataSets(Config):
    """What to train on, and what to evaluate on after each epoch, if anything."""

    train: DataConf = field(metadata=of(DataConf))
    validation: DataConf | None = field(default=None, metadata=of(DataConf))

    def check(self):
        """Raise DataError for data that is not there."""
        for data in filter(None, (self.train, self.validation)):
            data.check()


@dataclass(frozen=True, kw_only=True)
class SparkOptions:
    """Where a run runs. What is given to spark-submit holds instead.

    Parameters
    ----------
    master : str
        "local[2]", "local-cluster[2,1,1024]", "yarn" ...
    name : str
        Of the application.
    config : dict
        Options of Spark by their full names.
    """

    master: str = TWO_EXECUTORS
    name: str = "sparkdl"
    config: dict = field(default_factory=dict)

    def __post_init__(self):
        require(self, "master", isinstance(self.master, str) and self.master, "a Spark master")
        require(self, "name", isinstance(self.name, str) and self.name, "a name")
        sound = isinstance(self.config, dict) and all(
            isinstance(key, str) and isinstance(value, str | int | float)
            for key, value in self.config.items()
        )
        require(self, "config", sound, "a mapping of Spark's options to texts and numbers")


@dataclass(frozen=True, kw_only=True)
class RunConf:
    """Everything that `sparkdl train` needs.

    Parameters
    ----------
    network : NetworkConf or GraphConf
    training : TrainingMaster
    data : DataSets
    epochs : int
    output : str
        Where the model is written.
    checkpoints : Checkpoints or None
    spark : SparkOptions
    """

    network: Conf
    data: DataSets
    output: str
    training: TrainingMaster = field(default_factory=ParameterAveraging)
    epochs: int = 1
    checkpoints: Checkpoints | None = None
    spark: SparkOptions = field(default_factory=SparkOptions)

    def __post_init__(self):
        require(self, "epochs", is_integer(self.epochs, 1), "an integer >= 1")
        require(self, "output", isinstance(self.output, str) and self.output, "a path")

    def check(self):
        """Raise what would else come up hours later: data that is missing, output in the way."""
        self.data.check()
        refuse_to_destroy(self.output)

    @classmethod
    def from_dict(cls, options):
        """The run that nested dicts describe.

        Raises
        ------
        ConfigError
            For an unknown key, a missing one or a bad value, with the section it is in.
        """
        known = [item.name for item in fields(cls)]
        unknown = [key for key in options if key not in known]
        sections = {} if unknown else {k: section(k, v) for k, v in options.items()}
        return build(cls, options | sections)

    @classmethod
    def read(cls, path, settings=()):
        """The run in a YAML file, changed by settings such as "epochs=3"."""
        with files.open(path) as file:
            content = file.read()
        try:
            options = text.from_yaml(decoded(content))
            for setting in settings:
                apply(options, setting)
            return cls.from_dict(options)
        except SparkdlError as error:
            raise type(error)(f"{path}: {error}") from error


def decoded(content):
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"must be text in UTF-8, {error}") from error


def training_master(options):
    """The TrainingMaster of {"type": ..., its options}."""
    if not isinstance(options, dict) or options.get("type") not in MASTERS:
        name = options.get("type") if isinstance(options, dict) else options
        known = ", ".join(MASTERS)
        raise ConfigError(f"type must be one of {known}, got {name!r}{suggestion(name, MASTERS)}")
    return build(MASTERS[options["type"]], {k: v for k, v in options.items() if k != "type"})


SECTIONS = {
    "network": conf_from_dict,
    "training": training_master,
    "data": DataSets.from_dict,
    "checkpoints": lambda options: None if options is None else build(Checkpoints, options),
    "spark": lambda options: build(SparkOptions, options),
}


def section(key, value):
    """The parsed section of a run, or the plain value of another key."""
    try:
        return SECTIONS[key](value) if key in SECTIONS else value
    except SparkdlError as error:
        raise type(error)(f"{key}: {error}") from error
