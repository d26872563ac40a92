"""Fit of an estimator: runs SparkNetwork.fit on a DataFrame, with options from its Params."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from sparkdl.errors import ConfigError, NoRecords, NothingToEvaluate
from sparkdl.ml.checkpoint_folders import claimed_folder, folder_to_resume
from sparkdl.ml.params import FitParams
from sparkdl.ml.rows import (
    ReadColumns,
    divide_rows,
    has_rows,
    indicator_column,
    named_columns,
    require_frame,
    weight_column,
)
from sparkdl.ml.turns import taking_turns
from sparkdl.nn import Conf
from sparkdl.spark.connect.sessions import context_of
from sparkdl.spark.network import SparkNetwork
from sparkdl.spark.records.frame_schema import check_fields
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.network import Network
from sparkdl.training.reporting.early_stopping import NEVER, EarlyStopping
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.listeners import Listener


def fit_network(
    stage: Any,
    dataset: DataFrame,
    names: Callable[[Conf], tuple[dict[str, str], dict[str, str]]],
) -> tuple[Network, History]:
    """Trains a stage's network on a DataFrame.

    Parameters
    ----------
    stage : FitParams
    dataset : DataFrame
    names : function conf -> ({column of a batch: column of the DataFrame} of features, of labels)

    Raises
    ------
    ConfigError, DataError
        Before any job: for a bad Param, or a column that is missing or of a wrong type or width.
    """
    require_frame(dataset)
    if dataset.isStreaming:
        raise ConfigError("dataset must not stream; SparkNetwork.fit takes one that does")
    require_epochs(stage)
    network = network_to_train(stage)
    master, preprocessing = master_to_train(stage, network.conf), stage.getPreprocessing()
    features, labels = names(network.conf)
    weights = weight_column(stage)
    columns = named_columns(features, labels, weights)
    check_fields(dataset.schema, columns, schema_of(network.conf, transform=preprocessing))
    train, validation, options = divide_rows(stage, dataset)
    evaluates = validation is not None or "validation_split" in options
    sc = context_of(dataset.sparkSession)
    listeners = [*stopping(stage, evaluates), *stage.getListeners()]
    every, checkpoints = updates_between(stage, evaluates), stage.getCheckpoints()
    net = SparkNetwork(sc, network, master, resources=stage.getResources())
    read, owner = ReadColumns(features, labels, weights), type(stage).__name__
    with claimed_folder(owner, checkpoints), taking_turns(sc), naming_marks(stage, dataset):
        history = net.fit(
            read.select(train),
            stage.getMaxIter(),
            None if validation is None else read.select(validation),
            **read.names,
            transform=preprocessing,
            validate_every=every,
            listeners=listeners,
            checkpoints=checkpoints,
            resume=folder_to_resume(owner, checkpoints, stage.getResume()),
            **options,
        )
    return net.network, history


@contextmanager
def naming_marks(stage: FitParams, dataset: DataFrame) -> Iterator[None]:
    """Adds the column that marks validation rows to the error of a fit that lacks rows.

    Not if the other rows lack as well, so that other marks would not help.
    """
    try:
        yield
    except (NoRecords, NothingToEvaluate) as error:
        marks, trains = indicator_column(stage), isinstance(error, NoRecords)
        if marks is None or not has_rows(stage, dataset, marked=trains):
            raise
        does, value = ("trains", "false or null") if trains else ("evaluates", "true")
        raise type(error)(
            f"{error}; a fit {does} on the rows where column {marks!r}, the "
            f"validationIndicatorCol, is {value}; mark others, or leave it out"
        ) from None


def require_epochs(stage: FitParams) -> None:
    """Raises ConfigError unless `maxIter`, the epochs to train, is 1 or more."""
    if stage.getMaxIter() < 1:
        raise ConfigError(f"maxIter must be an integer >= 1, got {stage.getMaxIter()}")


def network_to_train(stage: FitParams) -> Network:
    """Returns a new Network with the stage's seed, or one that continues from given weights."""
    given = stage.getNetwork()
    if isinstance(given, Network):
        if stage.isDefined(stage.seed) and stage.getSeed() != given.conf.seed:
            raise ConfigError(
                f"seed must be left out where network has weights of seed {given.conf.seed}, got "
                f"{stage.getSeed()}"
            )
        return Network(given.conf, given.state, given.device)
    return Network(replace(given, seed=stage.getSeed()) if stage.isDefined(stage.seed) else given)


def master_to_train(stage: FitParams, conf: Conf | None = None) -> TrainingMaster:
    """Returns the stage's master, for a network, with the options that have Params of their own."""
    options: dict[str, Any] = {}
    if stage.isDefined(stage.batchSize):
        options["batch_size_per_worker"] = stage.getBatchSize()
    if stage.isDefined(stage.numWorkers):
        options["workers"] = stage.getNumWorkers()
    return replace(stage.getMaster() if conf is None else stage.master_for(conf), **options)


def updates_between(stage: FitParams, evaluates: bool) -> int | None:
    """Returns the updates between two evaluations; None: an epoch's."""
    if not stage.isDefined(stage.validateEvery):
        return None
    every = stage.getValidateEvery()
    if not evaluates:
        raise ConfigError(
            f"validateEvery must be left out where nothing is evaluated, got {every}; give "
            "validationSplit or validationIndicatorCol"
        )
    if every < 1:
        raise ConfigError(f"validateEvery must be an integer >= 1, got {every}")
    return every


def stopping(stage: FitParams, evaluates: bool) -> list[Listener]:
    """Returns the listener that stops early or restores the best weights, if one is wanted."""
    best = stage.getRestoreBestWeights()
    if not (best or stage.isDefined(stage.patience)):
        return []
    if not evaluates and stage.getMonitor() != "loss":
        raise ConfigError(
            f"monitor must be 'loss' where nothing is evaluated, got {stage.getMonitor()!r}; give "
            "validationSplit or validationIndicatorCol"
        )
    patience = stage.getPatience() if stage.isDefined(stage.patience) else NEVER
    return [EarlyStopping(stage.getMonitor(), stage.getMinDelta(), patience, "auto", None, best)]
