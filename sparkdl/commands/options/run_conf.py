"""Configuration of a whole run in one file: network, training, data, epochs, output, Spark."""

from dataclasses import fields

from sparkdl.commands.options.output_paths import check_outside
from sparkdl.commands.options.settings import apply
from sparkdl.config import (
    Config,
    Instance,
    Integer,
    Mapping,
    Nested,
    Of,
    Path,
    Text,
    build,
    dataclass,
    option,
    text,
)
from sparkdl.data import Source, files
from sparkdl.errors import ConfigError, SparkdlError
from sparkdl.nn import Conf, conf_from_dict
from sparkdl.spark.session import TWO_EXECUTORS
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.masters.registry import training_master
from sparkdl.training.saving.checkpoint import Checkpoints, check_folder
from sparkdl.training.saving.manifest import refuse_to_destroy


@dataclass(frozen=True, kw_only=True)
class DataSets(Config):
    """The data to train on, and optionally the data to evaluate on after each epoch."""

    train: Source = option(Of(family=Source), "Data to train on.")
    validation: Source | None = option(
        Of(family=Source), "Data to evaluate on after each epoch, if any.", default=None
    )

    def check(self):
        """Raises DataError if data is missing."""
        for data in filter(None, (self.train, self.validation)):
            data.check()


VALUE = Instance(of=(str, int, float), what="a text or a number")


@dataclass(frozen=True, kw_only=True)
class SparkOptions(Config):
    """Spark's settings for a run; those given to spark-submit take precedence."""

    master: str = option(
        Text(what="a Spark master"),
        '"local[2]", "local-cluster[2,1,1024]", "yarn" ...',
        default=TWO_EXECUTORS,
    )
    name: str = option(Text(what="a name"), "Name of the application.", default="sparkdl")
    config: dict = option(
        Mapping(keys=Text(), values=VALUE), "Options of Spark by their full names.", factory=dict
    )


@dataclass(frozen=True, kw_only=True)
class RunConf(Config):
    """Configuration of `sparkdl train`."""

    network: Conf = option(
        Instance(of=Conf, what="a NetworkConf or GraphConf"), "Network to train."
    )
    data: DataSets = option(Nested(of=DataSets), "Data to train and evaluate on.")
    output: str = option(Path(), "Path of the model that is written.")
    training: TrainingMaster = option(
        Of(family=TrainingMaster),
        "TrainingMaster of the run.",
        default=ParameterAveraging(),
    )
    epochs: int = option(Integer(minimum=1), "Passes over the data.", default=1)
    checkpoints: Checkpoints | None = option(
        Nested(of=Checkpoints), "Checkpoints that are written on the way.", default=None
    )
    spark: SparkOptions = option(Nested(of=SparkOptions), "Spark's settings.", factory=SparkOptions)

    def check(self):
        """Raises errors that would otherwise show hours later: missing data, outputs in the way."""
        self.data.check()
        refuse_to_destroy(self.output)
        if self.checkpoints is not None:
            self.check_outside("checkpoints.path", self.checkpoints.path)
            check_folder(self.checkpoints)
            files.exists(self.checkpoints.path)  # raises DataError if it cannot be reached

    def check_outside(self, name, path):
        """Raises ConfigError if `path` is the folder of the model or in it.

        Saving would replace the folder, and refuses to destroy what else is there.
        """
        check_outside(name, path, self.output, "the folder of the model")

    @classmethod
    def from_dict(cls, options):
        """Builds a run from nested dicts.

        Raises
        ------
        ConfigError
            For an unknown or missing key or an invalid value; names the section.
        """
        known = [item.name for item in fields(cls)]
        unknown = [key for key in options if key not in known]
        sections = {} if unknown else {k: section(k, v) for k, v in options.items()}
        return build(cls, options | sections)

    @classmethod
    def read(cls, path, settings=()):
        """Reads a run from a YAML file, changed by settings such as "epochs=3"."""
        with files.open(path) as file:
            content = file.read()
        try:
            options = text.from_yaml(decode_utf8(content))
            for setting in settings:
                apply(options, setting)
            return cls.from_dict(options)
        except SparkdlError as error:
            raise type(error)(f"{path}: {error}") from error


def decode_utf8(content):
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"must be text in UTF-8, {error}") from error


SECTIONS = {
    "network": conf_from_dict,
    "training": training_master,
    "data": DataSets.from_dict,
    "checkpoints": lambda options: None if options is None else build(Checkpoints, options),
    "spark": lambda options: build(SparkOptions, options),
}


def section(key, value):
    """Parses a section of a run; returns the values of other keys unchanged."""
    try:
        return SECTIONS[key](value) if key in SECTIONS else value
    except SparkdlError as error:
        raise type(error)(f"{key}: {error}") from error


def setting_paths():
    """Returns {option: its path for --set} of a run and its sections other than the network.

    The options of the training are those of ParameterAveraging.
    """
    sections = {
        "": RunConf,
        "spark.": SparkOptions,
        "data.": DataSets,
        "checkpoints.": Checkpoints,
        "training.": ParameterAveraging,
    }
    paths = [(each.name, start) for start, kind in sections.items() for each in fields(kind)]
    return {name: start + name for name, start in reversed(paths)}
