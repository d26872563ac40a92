"""A network trained and used on a Spark cluster."""

from dataclasses import replace
from functools import partial

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from sparkdl.errors import ConfigError, DataError
from sparkdl.interop.recipes import DESCRIPTIONS, recipe_of
from sparkdl.nn import Conf
from sparkdl.spark.gpu_process.dispatch import run_on_device, run_partition_on_device
from sparkdl.spark.inference import predictions
from sparkdl.spark.inference.validation_frame import validation_frame
from sparkdl.spark.jobs.device_tally import DeviceTally
from sparkdl.spark.jobs.job import job
from sparkdl.spark.jobs.shared_value import SharedValue, sharing
from sparkdl.spark.records.recipe_tests import batches_of_tests
from sparkdl.spark.records.records import SparkRecords
from sparkdl.spark.streaming.stream_fit import fit_stream
from sparkdl.spark.workers import SparkWorkers, tree
from sparkdl.training.evaluation.batch_evaluation import Evaluator
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network, fit_network
from sparkdl.training.recipe import Recipe
from sparkdl.training.workers.base import Validation
from sparkdl.training.workers.contribution import unwrap


class SparkNetwork:
    """A network on Spark.

    `data` is everywhere an RDD of (features, label) pairs, Rows or LabeledPoints, a DataFrame, or a
    source such as LMDB(path) that the executors read themselves. For `fit`, `predict` and
    `features` a DataFrame may be one that streams.

    `evaluate`, `score`, `predict` and `features` compute on the master's `device`, or on the one
    that they are given in its place: "auto", "cpu" or "cuda". A task that owns several GPUs takes
    no more than the first for them.

    Parameters
    ----------
    sc : SparkContext or SparkSession
    conf : NetworkConf, GraphConf, Network, Recipe, or path of a file that describes one
        A Network continues with its weights. A Recipe, such as CaffeSolver of a solver file, says
        with which data, how long and at which rates its network is trained, when it is tested, and
        where snapshots go.
    tm : TrainingMaster, optional
        How it is trained. None: ParameterAveraging(), of a solver AllReduceSGD().
    snapshot, weights : str, optional
        Of a solver file: what training goes on from; see recipe_of.

    Examples
    --------
    >>> net = SparkNetwork(sc, conf, ParameterAveraging(batch_size_per_worker=64))
    >>> history = net.fit(rdd, epochs=3, validation=test)
    >>> net.evaluate(test).accuracy
    0.98
    >>> SparkNetwork(sc, "lenet_solver.prototxt").fit().validations[-1].validation.figures()
    {'accuracy': 0.9911, 'loss': 0.0273}
    """

    def __init__(self, sc, conf, tm=None, *, snapshot=None, weights=None):
        self.sc = sc.sparkContext if isinstance(sc, SparkSession) else sc
        require_kind("sc", self.sc, SparkContext, "a SparkContext or SparkSession")
        if tm is not None and not isinstance(tm, TrainingMaster):
            raise ConfigError(f"tm must be a TrainingMaster, got {type(tm).__name__}")
        self.recipe, self._model, self._tally = None, None, DeviceTally(self.sc)
        if isinstance(conf, DESCRIPTIONS):
            conf = recipe_of(conf, tm, snapshot=snapshot, weights=weights)
        elif snapshot is not None or weights is not None:
            raise ConfigError("snapshot and weights are for the path of a solver file")
        if isinstance(conf, Recipe):
            self.recipe, self.network, self.master = conf, conf.network, conf.master
            return
        kinds = "a NetworkConf, GraphConf, Network, Recipe or path of a solver file"
        require_kind("conf", conf, Conf | Network, kinds)
        self.network = conf if isinstance(conf, Network) else Network(conf)
        self.master = ParameterAveraging() if tm is None else tm

    @property
    def conf(self):
        return self.network.conf

    @property
    def devices(self):
        """{device: tasks}: where evaluations, predictions and features have been computed until
        now, be it "the processor"."""
        return self._tally.devices

    def fit(
        self,
        data=None,
        epochs=None,
        validation=None,
        *,
        features="features",
        label="label",
        weights=None,
        transform=None,
        trigger=None,
        **options,
    ):
        """Trains; returns a History.

        Parameters
        ----------
        data : data, optional
            Must be given unless a solver file has a net that names it.
        epochs : int, optional
            Epochs to train; they go on from those before, unless the network is new. 1 unless
            given; as many as it takes for `updates`, or for the max_iter of a solver.
        validation : data, optional
            Evaluated after each epoch, or where `validate_every` says. Of a solver the data of its
            test net, of several a list. None: what they name.
        features, label, weights : str
            Columns, where the records have names; a network with several inputs or outputs takes
            theirs. Weights are factors of the examples' losses.
        transform : callable, optional
            What workers do to minibatches of an RDD or DataFrame; see sparkdl.data.Transform.
        trigger : dict, optional
            Of a DataFrame that streams, when it gives micro-batches: options of pyspark's
            DataStreamWriter.trigger, such as {"availableNow": True}. Each is trained on for
            `epochs` epochs; see sparkdl.spark.streaming.stream_fit.
        options
            `updates`, `validate_every`, `validate_first`, `listeners`, `checkpoints` and `resume`;
            see fit_network. Of a stream `listeners` and `checkpoints`, from which it goes on
            unasked, as Spark's queries do.

        Raises
        ------
        ConfigError, DataError
            Before anything is trained: a bad option, or a record that cannot be used.
        DivergedError
            The loss is no longer finite; the network keeps the weights from before the fit.
        WorkerError
            A Spark job failed for good.
        """
        if isinstance(data, DataFrame) and data.isStreaming:
            names = {"features": features, "label": label, "weights": weights}
            names |= {"epochs": epochs, "validation": validation, "transform": transform}
            return self._fit_stream(data, trigger, names, **options)
        if trigger is not None:
            raise ConfigError(f"trigger must be None for data that is no stream, got {trigger}")
        workers = SparkWorkers(self.sc, self.master.workers, self.master.task_device)
        if data is None and self.recipe is None:
            raise ConfigError("fit must be given data, unless a solver file names it")
        data = self.recipe.data() if data is None else data
        data = SparkRecords(data, features, label, weights, transform)
        options |= {"epochs": epochs, "evaluate": self._evaluate}

        def records(data):
            change = None if hasattr(data, "splits") else transform
            return SparkRecords(data, features, label, transform=change)

        if self.recipe is not None:
            tests = self.recipe.tests(validation, records)
            batches = batches_of_tests(self.sc, self.recipe.test_confs, tests)
            on = self.recipe.validation(tests, batches)
            return self.recipe.train(data, workers, on, **options)
        if epochs is None and options.get("updates") is None:
            options["epochs"] = 1
        if validation is not None:  # unreadable data is refused before anything is trained
            options["validation"] = self._validation(records(validation))
        return fit_network(self.network, data, self.master, workers, **options)

    def _fit_stream(self, frame, trigger, given, listeners=(), checkpoints=None, **others):
        if others:
            raise ConfigError(f"{list(others)} must be left out where data is a stream")
        if self.recipe is not None:
            raise ConfigError("data must be no stream where a solver file says when to stop")

        def fit(batch, listener):
            return self.fit(batch, listeners=(listener, *listeners), **given)

        return fit_stream(self.network, frame, fit, trigger, checkpoints)

    def validations(self, history):
        """Returns a DataFrame of a fit's validations by updates.

        `validate_every` or a solver's test_interval asked for them; it has `iteration`, and a
        column of lists for each figure.
        """
        return validation_frame(SparkSession.builder.getOrCreate(), history)

    def evaluate(self, data, *, features="features", label="label", transform=None, device=None):
        """Returns an Evaluation of the network over labelled data."""
        records = SparkRecords(data, features, label, transform=transform)
        return self._evaluate(self.network.state, self._validation(records), device)

    def score(self, data, **options):
        """Returns the mean loss over labelled data; options are those of `evaluate`."""
        return self.evaluate(data, **options).loss

    def predict(self, data, *, features="features", transform=None, device=None):
        """Predicts lazily: Spark computes each record's prediction on demand.

        Returns
        -------
        RDD of float32 vectors (units,), for an RDD or source; for a DataFrame its columns with
        `prediction` (the class, or the value) and `probability` (for classes) behind them.
        """
        master = self._master_on(device)
        model = self._share(master)
        if isinstance(data, DataFrame):
            fields = predictions.prediction_fields(self.conf)
            compute = partial(predictions.prediction_columns, model, transform)
            compute = self._task_on_device(run_on_device, master, compute)
            return predictions.with_columns(data, self.conf, transform, features, fields, compute)
        records = SparkRecords(data, features, transform=transform)
        name, batches = self.conf.output.name, self._batches(records, labels=False)
        compute = partial(predictions.predict_batches, model, name, records.transform)
        return batches.mapPartitions(self._task_on_device(run_on_device, master, compute))

    def features(self, data, layers, *, features="features", transform=None, device=None):
        """Computes the outputs of layers for each record, as inputs for other learners.

        Returns
        -------
        RDD of {layer: array}, for an RDD or source; for a DataFrame its columns with one of float
        lists for each layer behind them.

        Raises
        ------
        ConfigError for a layer that does not exist.
        """
        layers, master = self._layers(layers), self._master_on(device)
        model = self._share(master)
        if isinstance(data, DataFrame):
            fields = [predictions.numbers(name) for name in layers]
            compute = partial(predictions.layer_columns, layers, model, transform)
            compute = self._task_on_device(run_on_device, master, compute)
            return predictions.with_columns(data, self.conf, transform, features, fields, compute)
        records = SparkRecords(data, features, transform=transform)
        compute = partial(predictions.feature_batches, model, layers, records.transform)
        batches = self._batches(records, labels=False)
        return batches.mapPartitions(self._task_on_device(run_on_device, master, compute))

    def _master_on(self, device):
        """Returns the master with another device, if one is given.

        Raises ConfigError where that cannot be.
        """
        return self.master if device is None else replace(self.master, device=device)

    def _task_on_device(self, way, master, compute):
        """Returns a task that runs `compute` where the master says; `way` is run_..._on_device."""
        return partial(way, master.task_device, compute, tally=self._tally)

    def save(self, path):
        """Writes configuration and vectors to a directory."""
        self.network.save(path)

    @classmethod
    def load(cls, sc, path, tm=None):
        """Returns the network that `save` wrote; CheckpointError where it is damaged or foreign."""
        return cls(sc, Network.load(path), tm)

    def _batches(self, records, labels=True):
        """Returns an RDD of the records' Batches."""
        return records.batches(self.sc, schema_of(self.conf, labels, records.transform))

    def _validation(self, records):
        return Validation(self._batches(records), Evaluator(self.conf, records.transform))

    def _evaluate(self, state, data, device=None):
        (batches, evaluator), master = data, self._master_on(device)
        with job(self.sc, "evaluation", "an evaluation"):
            with sharing(self.sc, self._model_of(state, master)) as model:
                each = partial(predictions.evaluate_partition, model, evaluator)
                each = self._task_on_device(run_partition_on_device, master, each)
                ranked, parts = batches.mapPartitionsWithIndex(each), batches.getNumPartitions()
                sums = tree(ranked, parts, depth=2, add=predictions.merge_evaluations)
        result = unwrap(predictions.merge_evaluations(sums)) if sums else None
        if result is None or not result.examples:
            raise DataError("there are no records to evaluate on: every partition is empty")
        return result

    def _share(self, master):
        """Shares conf and weights with tasks that run whenever Spark gets to them.

        They are sent again only when they are others, or for another device.
        """
        of = self.network.state, master.device
        if self._model is None or self._model[0] != of:
            if self._model is not None:
                self._model[1].leave_executors()
            self._model = of, SharedValue(self.sc, self._model_of(of[0], master))
        return self._model[1]

    def _model_of(self, state, master):
        """Returns the arguments from which inference.loaded makes a replica."""
        return self.conf, replace(state, own=()), master.device, master.backend

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
