"""A network trained and used on a Spark cluster."""

from functools import partial

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from sparkdl.errors import ConfigError, DataError
from sparkdl.nn import Conf
from sparkdl.spark import inference
from sparkdl.spark.jobs import job
from sparkdl.spark.records import Records
from sparkdl.spark.shared import Shared, sharing
from sparkdl.spark.workers import SparkWorkers, tree
from sparkdl.training.aggregate import unwrap
from sparkdl.training.averaging import ParameterAveraging
from sparkdl.training.master import TrainingMaster
from sparkdl.training.network import Network, fit_network
from sparkdl.training.schema import schema_of
from sparkdl.training.workers import Validation


class SparkNetwork:
    """A network on Spark.

    `data` is everywhere an RDD of (features, label) pairs, Rows or LabeledPoints, a DataFrame, or a
    source such as LMDB(path) that the executors read themselves.

    Parameters
    ----------
    sc : SparkContext or SparkSession
    conf : NetworkConf, GraphConf or Network
        A Network continues with its weights.
    tm : TrainingMaster, optional
        How it is trained; ParameterAveraging() unless given.

    Examples
    --------
    >>> net = SparkNetwork(sc, conf, ParameterAveraging(batch_size_per_worker=64))
    >>> history = net.fit(rdd, epochs=3, validation=test)
    >>> net.evaluate(test).accuracy
    0.98
    """

    def __init__(self, sc, conf, tm=None):
        self.sc = sc.sparkContext if isinstance(sc, SparkSession) else sc
        require_kind("sc", self.sc, SparkContext, "a SparkContext or SparkSession")
        require_kind("conf", conf, Conf | Network, "a NetworkConf, GraphConf or Network")
        self.network = conf if isinstance(conf, Network) else Network(conf)
        self.master = ParameterAveraging() if tm is None else tm
        if not isinstance(self.master, TrainingMaster):
            raise ConfigError(f"tm must be a TrainingMaster, got {type(tm).__name__}")
        self._model = None

    @property
    def conf(self):
        return self.network.conf

    def fit(
        self,
        data,
        epochs=1,
        validation=None,
        *,
        features="features",
        label="label",
        weights=None,
        transform=None,
        **options,
    ):
        """Train; returns a History.

        Parameters
        ----------
        epochs : int
            Epochs to train; they go on from those before, unless the network is new.
        validation : data, optional
            Evaluated after each epoch.
        features, label, weights : str
            Columns, where the records have names; a network with several inputs or outputs takes
            theirs. Weights are factors of the examples' losses.
        transform : callable, optional
            What workers do to minibatches of an RDD or DataFrame; see sparkdl.data.Transform.
        options
            `listeners`, `checkpoints` and `resume`; see fit_network.

        Raises
        ------
        ConfigError, DataError
            Before anything is trained: a bad option, or a record that cannot be used.
        DivergedError
            The loss is no longer finite; the network keeps the weights from before the fit.
        WorkerError
            A Spark job failed for good.
        """
        workers = SparkWorkers(self.sc, self.master.workers)
        data = Records(data, features, label, weights, transform)
        if validation is not None:  # what cannot be read is refused before anything is trained
            change = None if hasattr(validation, "splits") else transform
            on = self._batches(Records(validation, features, label, transform=change))
            options |= {"validation": on, "evaluate": self._evaluate}
        return fit_network(self.network, data, self.master, workers, epochs, **options)

    def evaluate(self, data, *, features="features", label="label", transform=None):
        """An Evaluation of the network over labelled data."""
        records = Records(data, features, label, transform=transform)
        return self._evaluate(self.network.state, self._batches(records))

    def score(self, data, *, features="features", label="label", transform=None):
        """The mean loss over labelled data."""
        return self.evaluate(data, features=features, label=label, transform=transform).loss

    def predict(self, data, *, features="features", transform=None):
        """What the network says of each record, computed when Spark gets to it.

        Returns
        -------
        RDD of float32 vectors (units,), for an RDD or source; for a DataFrame its columns with
        `prediction` (the class, or the value) and `probability` (for classes) behind them.
        """
        model = self._shared()
        if isinstance(data, DataFrame):
            fields = inference.prediction_fields(self.conf)
            compute = partial(inference.prediction_columns, model, transform)
            return inference.with_columns(data, self.conf, transform, features, fields, compute)
        records = Records(data, features, transform=transform)
        batches, transform = self._batches(records, labels=False)
        name = self.conf.output.name
        return batches.mapPartitions(partial(inference.predict_batches, model, name, transform))

    def features(self, data, layers, *, features="features", transform=None):
        """What layers give for each record: inputs for other learners.

        Returns
        -------
        RDD of {layer: array}, for an RDD or source; for a DataFrame its columns with one of float
        lists for each layer behind them.

        Raises
        ------
        ConfigError for a layer that does not exist.
        """
        layers = self._layers(layers)
        model = self._shared()
        if isinstance(data, DataFrame):
            fields = [inference.numbers(name) for name in layers]
            compute = partial(inference.layer_columns, layers, model, transform)
            return inference.with_columns(data, self.conf, transform, features, fields, compute)
        records = Records(data, features, transform=transform)
        batches, transform = self._batches(records, labels=False)
        compute = partial(inference.feature_batches, model, layers, transform)
        return batches.mapPartitions(compute)

    def save(self, path):
        """Write configuration and vectors to a directory."""
        self.network.save(path)

    @classmethod
    def load(cls, sc, path, tm=None):
        """The network that `save` wrote; CheckpointError where it is damaged or foreign."""
        return cls(sc, Network.load(path), tm)

    def _batches(self, records, labels=True):
        """An RDD of the records' Batches, and what to do to each."""
        schema = schema_of(self.conf, labels, records.transform)
        return Validation(records.batches(self.sc, schema), records.transform)

    def _evaluate(self, state, data):
        batches, transform = data
        with job(self.sc, "evaluation", "an evaluation"):
            with sharing(self.sc, (self.conf, state, self.master.backend)) as model:
                each = partial(inference.evaluate_partition, model, transform)
                ranked, parts = batches.mapPartitionsWithIndex(each), batches.getNumPartitions()
                sums = tree(ranked, parts, depth=2, add=inference.merged)
        result = unwrap(inference.merged(sums)) if sums else None
        if result is None or not result.examples:
            raise DataError("there are no records to evaluate on: every partition is empty")
        return result

    def _shared(self):
        """Conf and weights for tasks that run whenever Spark gets to them; sent again only when the
        weights have changed."""
        state = self.network.state
        if self._model is None or self._model[0] is not state:
            if self._model is not None:
                self._model[1].leave_executors()
            self._model = state, Shared(self.sc, (self.conf, state, self.master.backend))
        return self._model[1]

    def _layers(self, layers):
        layers = [layers] if isinstance(layers, str) else list(dict.fromkeys(layers))
        known = [place.name for place in self.conf.stack]
        unknown = [name for name in layers if name not in known]
        if unknown or not layers:
            raise ConfigError(f"layers must be some of {known}, got {layers}")
        return layers


def require_kind(name, value, kind, must_be):
    if not isinstance(value, kind):
        raise ConfigError(f"{name} must be {must_be}, got {type(value).__name__}")
