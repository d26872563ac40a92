"""A network trained and used on a Spark cluster."""

from functools import partial

from pyspark.sql import DataFrame, SparkSession

from sparkdl.errors import ConfigError, DataError
from sparkdl.spark import inference
from sparkdl.spark.records import Records
from sparkdl.spark.workers import SparkWorkers, clear_errors
from sparkdl.training.aggregate import Failure
from sparkdl.training.averaging import ParameterAveraging
from sparkdl.training.network import Network, fit_network
from sparkdl.training.schema import schema_of


class SparkNetwork:
    """A network on Spark.

    `data` is everywhere an RDD of (features, label) pairs, Rows or LabeledPoints, a DataFrame, or a
    source such as LMDB(path) that the executors read themselves.

    Parameters
    ----------
    sc : SparkContext or SparkSession
    conf : NetworkConf or Network
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
        self.network = conf if isinstance(conf, Network) else Network(conf)
        self.master = ParameterAveraging() if tm is None else tm
        self._model = None

    @property
    def conf(self):
        return self.network.conf

    def fit(
        self, data, epochs=1, validation=None, *, features="features", label="label", **options
    ):
        """Train; returns a History.

        Parameters
        ----------
        epochs : int
            Epochs to train; they go on from those before, unless the network is new.
        validation : data, optional
            Evaluated after each epoch.
        features, label : str
            Columns, where the records have names.
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
        data = Records(data, features, label)
        if validation is not None:
            options |= {"validation": Records(validation, features, label)}
            options |= {"evaluate": lambda state, on: self._evaluate(Network(self.conf, state), on)}
        return fit_network(self.network, data, self.master, workers, epochs, **options)

    def evaluate(self, data, *, features="features", label="label"):
        """An Evaluation of the network over labelled data."""
        return self._evaluate(self.network, Records(data, features, label))

    def score(self, data, *, features="features", label="label"):
        """The mean loss over labelled data."""
        return self.evaluate(data, features=features, label=label).loss

    def predict(self, data, *, features="features"):
        """What the network says of each record, computed when Spark gets to it.

        Returns
        -------
        RDD of float32 vectors (units,), for an RDD or source; for a DataFrame its columns with
        `prediction` (the class, or the value) and `probability` (for classes) behind them.
        """
        model = self._broadcast()
        if isinstance(data, DataFrame):
            fields = inference.prediction_fields(self.conf)
            compute = inference.prediction_columns
            return inference.with_columns(data, model, self.conf, features, fields, compute)
        records = Records(data, features)
        batches = records.batches(self.sc, schema_of(self.conf, labels=False))
        return batches.mapPartitions(partial(inference.predict_batches, model, records.transform))

    def features(self, data, layers, *, features="features"):
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
        model = self._broadcast()
        if isinstance(data, DataFrame):
            fields = [inference.numbers(name) for name in layers]
            compute = partial(inference.layer_columns, layers)
            return inference.with_columns(data, model, self.conf, features, fields, compute)
        records = Records(data, features)
        batches = records.batches(self.sc, schema_of(self.conf, labels=False))
        compute = partial(inference.feature_batches, model, layers, records.transform)
        return batches.mapPartitions(compute)

    def save(self, path):
        """Write configuration and vectors to a directory."""
        self.network.save(path)

    @classmethod
    def load(cls, sc, path, tm=None):
        """The network that `save` wrote; CheckpointError where it is damaged or foreign."""
        return cls(sc, Network.load(path), tm)

    def _evaluate(self, network, records):
        model = self._broadcast(network)
        batches = records.batches(self.sc, schema_of(self.conf))
        self.sc.setJobDescription("sparkdl: evaluate")
        each = partial(inference.evaluate_partition, model, records.transform)
        with clear_errors("an evaluation"):
            result = batches.mapPartitions(each).treeReduce(inference.merged)
        if isinstance(result, Failure):
            raise result.error
        if not result.examples:
            raise DataError("there are no records to evaluate on: every partition is empty")
        return result

    def _broadcast(self, network=None):
        """Conf and weights for the executors; sent again only when they have changed."""
        state = (network or self.network).state
        if self._model is None or self._model[0] is not state:
            if self._model is not None:
                self._model[1].unpersist()
            value = self.conf, state, self.master.backend
            self._model = state, self.sc.broadcast(value)
        return self._model[1]

    def _layers(self, layers):
        layers = [layers] if isinstance(layers, str) else list(layers)
        known = [layer.name for layer in self.conf.layers]
        unknown = [name for name in layers if name not in known]
        if unknown or not layers:
            raise ConfigError(f"layers must be some of {known}, got {layers}")
        return layers
