"""Ensembles: several networks that vote, as one model of pyspark.ml."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from pyspark import SparkContext
from pyspark.ml import Model
from pyspark.ml.param.shared import (
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasThresholds,
)
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from sparkdl.data.batches.batch import Batch, record_ids
from sparkdl.data.readers.ndarray.arrays import Arrays
from sparkdl.errors import ConfigError, brief
from sparkdl.ml.classifier import thresholds_of
from sparkdl.ml.columns import one_label
from sparkdl.ml.evaluation import with_names
from sparkdl.ml.outputs import fields_of, is_flat, kind_of_output
from sparkdl.ml.params import HasSeveralFeatures, StageParams
from sparkdl.ml.persistence import SavedStage
from sparkdl.ml.rows import ReadColumns, named_columns, require_frame, weights_to_evaluate
from sparkdl.ml.training_params import HasClassWeights, TrainingParams
from sparkdl.spark.gpu_process.dispatch import run_on_device, run_partition_on_device
from sparkdl.spark.inference.arrow_map import map_in_arrow
from sparkdl.spark.inference.network_in_use import checksum
from sparkdl.spark.inference.output_columns import VALUES, OutputColumns
from sparkdl.spark.inference.predictions import column_function
from sparkdl.spark.jobs.shared_value import share_if_changed
from sparkdl.spark.records.frame_schema import check_fields
from sparkdl.spark.records.records import SparkRecords
from sparkdl.training.evaluation import Evaluation
from sparkdl.training.inputs.schema import common_schema, schema_of
from sparkdl.training.network import Network
from sparkdl.training.saving.stored_tables import files_of
from sparkdl.tune.outcome_losses import has_losses
from sparkdl.tune.vote_evaluation import evaluate
from sparkdl.tune.vote_tasks import Vote, vote_columns
from sparkdl.tune.votes import VOTINGS


class EnsembleModel(
    Model,
    StageParams,
    TrainingParams,
    HasClassWeights,
    HasSeveralFeatures,
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasThresholds,
    SavedStage,
):
    """An ensemble: networks whose predictions are combined.

    If a TuneEstimator made it, it has the Params of the estimator, except `rawPredictionCol`: votes
    have no raw predictions. `maxIter` and `batchSize` are undefined if the networks were trained
    with different ones, and so are all Params of a fit if there was none.

    Parameters
    ----------
    networks : sequence of Network
        Networks with one output each, for the same records and labels.
    voting : "soft", "hard" or "weighted"
        "soft", "weighted": the mean of the probabilities, or of the values, with `weights` where
        there are any. "hard": the class that most networks predict, the first of equals.
    weights : sequence of float, optional
        Weights of the networks, at least 0; required by "weighted".
    labels : sequence of str, optional
        Names of the classes.

    Examples
    --------
    >>> model = search.ensemble(3, voting="hard")
    >>> model.transform(test).select("prediction", "probability")
    >>> model.evaluate(test).accuracy
    >>> model.write().overwrite().save("hdfs:///models/ensemble")
    """

    def __init__(
        self,
        networks: Sequence[Network],
        voting: str = "soft",
        weights: Sequence[float] | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        self.networks, self.voting = list(networks), voting
        self.weights = None if weights is None else tuple(map(float, weights))
        self.labels = None if labels is None else tuple(labels)
        check_members(self)
        self._shared: Any = None

    def setLabelCol(self, value: str) -> Self:
        """Sets the value of `labelCol`."""
        return self._set(labelCol=value)

    def setPredictionCol(self, value: str) -> Self:
        """Sets the value of `predictionCol`."""
        return self._set(predictionCol=value)

    def setProbabilityCol(self, value: str) -> Self:
        """Sets the value of `probabilityCol`; "" for none."""
        return self._set(probabilityCol=value)

    def setThresholds(self, value: list[float]) -> Self:
        """Sets the value of `thresholds`, one for each class; see SparkNetworkClassifier."""
        return self._set(thresholds=value)

    def setWeightCol(self, value: str) -> Self:
        """Sets the value of `weightCol`, of weights in `evaluate`; "" for none."""
        return self._set(weightCol=value)

    @property
    def vote(self) -> Vote:
        """How the networks vote, as sent to executors."""
        kind = kind_of_output(self._conf.main)
        return Vote(kind, self.voting, self.weights, thresholds_of(self, self._conf))

    def predict(self, features: Any) -> np.ndarray:
        """Returns the combined prediction for features (n, ...), computed in this process.

        Networks of several inputs take {input: features}.
        Probabilities (n, classes), with "hard" shares of the votes, or values (n, k).
        """
        preprocessing = self.getPreprocessing()
        schema = schema_of(self._conf, labels=False, transform=preprocessing)
        columns = Arrays(features).columns
        ids = record_ids(0, 0, len(next(iter(columns.values()))))
        batch = schema.check(Batch(columns=columns, ids=ids), "features")
        batch = batch if preprocessing is None else preprocessing(batch)
        return self.vote.outcome([network.predict(batch.columns) for network in self.networks])

    def transformSchema(self, schema: StructType) -> StructType:
        """Returns the schema that `transform` makes of another."""
        return self._map_function(schema)[1]

    def _transform(self, dataset: DataFrame) -> DataFrame:
        require_frame(dataset)
        return map_in_arrow(dataset, *self._map_function(dataset.schema))

    def evaluate(self, dataset: DataFrame) -> Evaluation:
        """Returns an Evaluation over labelled data, weighted if it has the column `weightCol`.

        Its loss is that of the first network, for what all give together. It is nan, and not among
        the figures, where it does not follow from that: of hard votes, of hinge losses with classes
        as labels, of a loss of your own whose prediction is not z, and where other layers add to
        the loss. A probability below 1e-38 counts as 1e-38. Counts of classes, with accuracy,
        precision, recall and f1, are by `thresholds`, if these are given.
        """
        conf, transform = self._conf, self.getPreprocessing()
        require_frame(dataset)
        features, labels = self._names(dataset.columns)
        weights = weights_to_evaluate(self, dataset)
        columns = named_columns(features, labels, weights)
        check_fields(dataset.schema, columns, schema_of(conf, transform=transform))
        read = ReadColumns(features, labels, weights)
        records = SparkRecords(read.select(dataset), **read.names, transform=transform)
        task = partial(run_partition_on_device, self._master.task_device)
        found = evaluate(SparkContext.getOrCreate(), conf, records, self._share(), self.vote, task)
        named = with_names(found, conf.main, self.labels)
        named.has_loss = has_losses(conf, self.voting)
        return named

    def networks_to_write(self) -> list[Network]:
        return self.networks

    def about(self) -> dict[str, Any]:
        kept = {"voting": self.voting, "weights": self.weights, "labels": self.labels}
        return kept | {"networks": len(self.networks)}

    @classmethod
    def from_saved(cls, network: Callable[[int], Network], about: dict[str, Any]) -> Self:
        return cls([network(n) for n in range(about.pop("networks"))], **about)

    @property
    def _conf(self):
        return self.networks[0].conf

    @property
    def _master(self):
        return self.getMaster().for_network(self._conf)

    def _names(self, known):
        return one_label(self, self._conf, self.getFeaturesCol(), self.getLabelCol(), known)

    def _map_function(self, schema):
        """Returns a function for mapInArrow, and the schema of its result."""
        vote, transform, device = self.vote, self.getPreprocessing(), self._master.task_device
        names = self.getPredictionCol(), self.getProbabilityCol() if vote.kind != VALUES else ""
        output = OutputColumns(self._conf.main.name, vote.kind, *names)
        new = fields_of(self._conf, output, self.labels)
        compute = partial(vote_columns, self._share(), vote, names, transform)
        task = partial(run_on_device, device, compute)
        parts = schema, self._conf, transform, self._names(schema.names)[0], new, task
        return column_function(*parts, layers=[output.layer])

    def _share(self):
        """Returns the networks shared with executors; they are sent again only if changed."""
        sc, master = SparkContext.getOrCreate(), self._master
        states = [one.state for one in self.networks]
        key = sc, master, states, [*map(checksum, states)]
        place = master.device, master.backend
        members = [(one.conf, one.state.without_slots(), *place) for one in self.networks]
        needs = [files_of(state.tables) for state in states]
        self._shared = share_if_changed(self._shared, key, sc, members, needs)
        return self._shared[1]

    def __getstate__(self) -> dict[str, Any]:
        networks = [Network(one.conf, one.state, one.device) for one in self.networks]
        return vars(self) | {"networks": networks, "_shared": None}  # without runtime state


def check_members(model: EnsembleModel) -> None:
    """Raises ConfigError unless the networks can vote in this way."""
    networks = model.networks
    if not networks or not all(isinstance(network, Network) for network in networks):
        raise ConfigError(f"EnsembleModel.networks must be Networks, got {brief(networks)}")
    if model.voting not in VOTINGS:
        raise ConfigError(
            f"EnsembleModel.voting must be one of {list(VOTINGS)}, got {model.voting!r}"
        )
    shapes = [(common_schema(one.conf), kind_of_output(one.conf.main)) for one in networks]
    if any(shape != shapes[0] for shape in shapes) or not is_flat(networks[0].conf.main):
        raise ConfigError(
            "EnsembleModel.networks must take the same records and give one row of numbers for "
            f"each, got {[str(schema) for schema, _ in shapes]}"
        )
    if model.voting == "hard" and shapes[0][1] == VALUES:
        raise ConfigError(
            "EnsembleModel.voting must be 'soft' or 'weighted' for networks of values, got 'hard'"
        )
    check_weights(model.weights, len(networks), model.voting == "weighted")


def check_weights(weights: tuple[float, ...] | None, count: int, needed: bool) -> None:
    """Raises ConfigError unless there is a valid weight for each network."""
    given = weights or ()
    sound = len(given) == count and min(given) >= 0 and 0 < sum(given) < math.inf
    if not sound and (needed or weights is not None):
        raise ConfigError(
            f"EnsembleModel.weights must be {count} numbers >= 0, not all 0, got {brief(weights)}"
        )
