"""A network trained and used on a Spark cluster."""

import logging
from collections.abc import Iterable
from os import PathLike
from typing import Any, Self

from pyspark import SparkContext
from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame, SparkSession

from sparkdl.config.calls import refuse_unknown_options
from sparkdl.errors import ConfigError
from sparkdl.interop.recipes import is_description, recipe_of
from sparkdl.nn import Conf
from sparkdl.own_folders import check_budgets
from sparkdl.spark.connect.sessions import (
    check_client,
    current_session,
    is_connect,
    is_frame,
    unsupported,
)
from sparkdl.spark.inference.network_in_use import NetworkInUse
from sparkdl.spark.inference.validation_frame import validation_frame
from sparkdl.spark.jobs.device_tally import DeviceTally
from sparkdl.spark.jobs.executor_python import check_executor_python
from sparkdl.spark.jobs.jvm import living_jvm
from sparkdl.spark.jobs.one_call import one_call
from sparkdl.spark.jobs.page_link import link_page
from sparkdl.spark.jobs.running_context import needs_session, require_running
from sparkdl.spark.jobs.shared_processes import shared_processes
from sparkdl.spark.jobs.task_resources import known_profile
from sparkdl.spark.jobs.user_code import check_pickles
from sparkdl.spark.own_settings import check_own_settings
from sparkdl.spark.records.feature_columns import Columns
from sparkdl.spark.records.recipe_tests import recipe_validation
from sparkdl.spark.records.records import (
    Changes,
    Data,
    SparkRecords,
    is_records,
    records_to_evaluate,
    records_to_fit,
    require_own_weights,
)
from sparkdl.spark.records.validation_records import open_validation
from sparkdl.spark.records.weight_columns import Weights
from sparkdl.spark.streaming.stream_fit import fit_micro_batches
from sparkdl.spark.workers import SparkWorkers
from sparkdl.training.evaluation.batch_evaluation import Evaluator
from sparkdl.training.evaluation.metrics import MetricsGiven, metrics_of
from sparkdl.training.fit.network_fit import check_followers, fit_network, require_tests
from sparkdl.training.foreign_models import require_conf
from sparkdl.training.inputs.division import divide, require_whole
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.masters.default import default_master
from sparkdl.training.network import Network
from sparkdl.training.recipe import Recipe
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.saving.checkpoint import Checkpoints

Context = SparkContext | SparkSession
log = logging.getLogger(__name__)


class SparkNetwork(NetworkInUse):
    """A network that trains, evaluates and predicts on Spark.

    In all methods `data` is an RDD of (features, label) pairs, Rows or LabeledPoints, a DataFrame,
    or a source such as LMDB(path) that the executors read themselves. `fit`, `predict`,
    `features` and `score_examples` also take a streaming DataFrame.

    `evaluate`, `score`, `predict` and `features` compute on the master's `device` unless given
    another: "auto", "cpu" or "cuda". A task that owns several GPUs uses only the first for them.

    Parameters
    ----------
    sc : SparkContext or SparkSession
        A Spark Connect session works too; see sparkdl/spark/connect.
    conf : NetworkConf, GraphConf, Network, Recipe, or path of a file that describes one
        A Network continues from its weights. A Recipe, such as the CaffeSolver of a solver file,
        also defines the training data, duration, learning rates, tests and snapshots.
    tm : TrainingMaster, optional
        How to train. None: ParameterAveraging(), or AllReduceSGD() for a solver and for a network
        with tables.
    resources : pyspark.resource.ResourceProfile, optional
        Resources of each training task, if they differ from those of tasks that read, evaluate and
        predict: cores, which become threads, and GPUs. A profile of task resources alone works on
        standalone clusters, YARN and Kubernetes.
    snapshot, weights : str, optional
        For a solver file: what training resumes from; see recipe_of.

    Examples
    --------
    >>> net = SparkNetwork(sc, conf, ParameterAveraging(batch_size_per_worker=64))
    >>> history = net.fit(rdd, epochs=3, validation=test)
    >>> net.evaluate(test).accuracy
    0.98
    >>> SparkNetwork(sc, "lenet_solver.prototxt").fit().validations[-1].validation.figures()
    {'accuracy': 0.9911, 'loss': 0.0273}
    """

    @needs_session
    def __init__(
        self,
        sc: Context,
        conf: Conf | Network | Recipe | str | PathLike[str],
        tm: TrainingMaster | None = None,
        *,
        resources: ResourceProfile | None = None,
        snapshot: str | None = None,
        weights: str | None = None,
    ) -> None:
        self.sc: Any = sc.sparkContext if isinstance(sc, SparkSession) else sc
        if is_connect(sc):
            check_client()
            if resources is not None:
                cure = "they apply to RDDs only; set spark.task.cpus for all"
                raise unsupported("resources=", cure)
            self._resources = None
        else:
            check_executor_python(self.sc)
            self._resources = known_profile(self.sc, resources)
        if tm is not None and not isinstance(tm, TrainingMaster):
            raise ConfigError(f"tm must be a TrainingMaster, got {type(tm).__name__}")
        self.recipe, self._model, self._tally = None, None, None
        if not is_connect(sc):
            self._tally = DeviceTally(self.sc)
        if is_description(conf):
            conf = recipe_of(conf, tm, snapshot=snapshot, weights=weights)
        elif snapshot is not None or weights is not None:
            raise ConfigError("snapshot and weights are for the path of a solver file")
        if isinstance(conf, Recipe):
            self.recipe, self.network, self.master = conf, conf.network, conf.master
            return
        kinds = "a NetworkConf, GraphConf, Network, Recipe or path of a solver file"
        require_conf(conf, Conf | Network, kinds)
        network: Any = conf
        self.network = network if isinstance(network, Network) else Network(network)
        self.master = (tm or default_master(self.network.conf)).for_network(self.network.conf)

    @property
    def history(self) -> History | None:
        """The History of the last fit, even if it was interrupted; None before the first."""
        return self.network.history

    @refuse_unknown_options
    def fit(
        self,
        data: Data | None = None,
        epochs: int | None = None,
        validation: Data | list[Data] | None = None,
        *,
        features: Columns = "features",
        label: str = "label",
        weights: Weights = None,
        transform: Changes | None = None,
        trigger: dict[str, Any] | None = None,
        updates: int | None = None,
        validation_split: float | None = None,
        class_weight: dict[int, float] | None = None,
        validate_every: int | None = None,
        validate_first: bool | None = None,
        metrics: MetricsGiven = None,
        listeners: Iterable[Listener] = (),
        checkpoints: Checkpoints | None = None,
        resume: str | PathLike[str] | bool | None = None,
    ) -> History:
        """Trains the network and returns a History.

        Parameters
        ----------
        data : data, optional
            Training data; required unless a solver file's net names it.
        epochs : int, optional
            Epochs to train, in addition to those already trained. Default: 1, or as many as
            `updates` or a solver's max_iter needs.
        validation : data, optional
            Data to evaluate on after each epoch, or every `validate_every` updates. For a solver:
            the data of its test net, or a list for several. None: the data that they name.
        features, label, weights : str
            Column names, for records with named columns; a network with several inputs or outputs
            uses their names. `features` may be a list of a DataFrame's columns of numbers, which
            needs no VectorAssembler. Weights are factors of the examples' losses, and count in
            figures of evaluations: of held-out records, and of a `validation` DataFrame or RDD
            that has the column. Of several columns of labels they may be {column of labels:
            column}, as Keras's sample_weight: factors of the losses of the outputs that read these
            labels.
        transform : callable or list of transforms, optional
            Function that workers apply to minibatches of an RDD or DataFrame, or several; see
            sparkdl.transforms. `evaluate`, `predict` and `features` apply it too unless given
            another.
        trigger : dict, optional
            For a streaming DataFrame, when micro-batches start: options of pyspark's
            DataStreamWriter.trigger, such as {"availableNow": True}. Each micro-batch is trained on
            for `epochs` epochs; see sparkdl.spark.streaming.stream_fit.
        updates : int, optional
            Stop after this update, counted from the network's first. Asynchronous masters and
            backup workers may train a few updates more.
        validation_split : float, optional
            Fraction of the records to hold out for evaluation, instead of `validation`. A record is
            chosen by the seed and a hash of its content, whatever the order and partitioning of the
            data; equal records stay together.
        class_weight : {class: factor}, optional
            Factor of the training loss for each class; a binary output has the classes 0 and 1.
            Classes left out have factor 1.
        validate_every : int, optional
            Updates between two evaluations. None: a solver's test_interval. An evaluation ends an
            averaging round early, which changes the weights: see `Listener`.
        validate_first : bool, optional
            Whether to evaluate before the first update too. Default: False, or a solver's
            test_initialization.
        metrics : {name: metric} or sequence of metrics, optional
            Metrics of your own for each evaluation, and whether other outputs have figures, as in
            `evaluate`; listeners monitor them as "validation name".
        listeners : sequence of Listener
            Called on the driver during the fit, in this order.
        checkpoints : Checkpoints, optional
            Where and how often to save the training state. A streaming fit resumes from the newest
            checkpoint automatically, as Spark's queries do.
        resume : path or True, optional
            A checkpoint, or a folder of checkpoints, to resume from. The fit then ends with the
            weights of an uninterrupted fit, unless the master is asynchronous or has backup
            workers. It has the same number of workers: a master without `workers` takes over that
            of the checkpoint, however many run at once now; over Spark Connect, no more than there
            are slots. True: resume this network's last fit, interrupted or stopped, from the
            weights it has: the best ones if EarlyStopping restored them, otherwise those of its
            last round.

        An interrupted fit (Ctrl-C, an error in a listener, a lost cluster) keeps its progress:
        `network` has the weights after the last round known to the driver, `history` ends there, no
        job is left behind, and the same call with `resume=True` continues.

        Raises
        ------
        ConfigError, DataError
            Raised before training: an invalid option, or a record that cannot be used.
        DivergedError
            The loss is no longer finite; the network keeps the weights from before the fit.
        WorkerError
            A Spark job failed for good.
        """
        require_running(self.sc)
        listeners = check_followers(listeners, checkpoints)
        check_budgets()
        marks: dict[str, Any] = {"updates": updates, "validate_every": validate_every}
        marks |= {"validate_first": validate_first, "resume": resume}
        division = divide(self.conf, self.master, validation, validation_split, class_weight)
        own = metrics_of(metrics, self.conf)
        own.check_sending(check_pickles, functions=is_connect(self.sc))
        if is_connect(self.sc):
            self._require_frames(data, validation, trigger)
        else:
            with living_jvm("the fit"):
                check_own_settings(self.sc)
        if is_frame(data) and data.isStreaming:
            names: dict[str, Any] = {"features": features, "label": label, "weights": weights}
            names |= {"epochs": epochs, "validation": validation, "transform": transform}
            names |= {"validation_split": validation_split, "class_weight": class_weight}
            names |= {"metrics": None if metrics is None else own.given}
            return fit_micro_batches(self, data, trigger, names, listeners, checkpoints, marks)
        if trigger is not None:
            raise ConfigError(f"trigger must be None for data that is no stream, got {trigger}")
        tests = self.recipe, validation, validation_split
        require_tests(validate_every, validate_first, metrics, *tests)
        options = marks | {"listeners": listeners, "checkpoints": checkpoints}
        if is_connect(self.sc):
            source = SparkRecords(data, features, label, weights, transform)
            options |= {"validate_first": bool(validate_first), "metrics": own}
            self._remember(source)
            of_fit = features, label, transform, weights
            on = None if validation is None else records_to_evaluate(validation, *of_fit)
            return self._fit_on_connect(source, epochs, on, division, options)
        master = self.master
        limit = getattr(master, "stall_timeout", None)
        each = master.workers, master.task_device, self._resources, limit
        workers = SparkWorkers(self.sc, *each)
        if data is None and self.recipe is None:
            raise ConfigError("fit must be given data, unless a solver file names it")
        given: Any = self.recipe.data() if data is None and self.recipe else data
        require_own_weights(given, weights)
        source = records_to_fit(given, validation, features, label, weights, transform)

        def records(data):
            return records_to_evaluate(data, features, label, transform, weights)

        sharing = shared_processes(self.sc, given, validation)
        with living_jvm("the fit"), one_call(self.sc), sharing:
            link_page(self.sc, listeners)
            if (recipe := self.recipe) is not None:
                require_whole(division, metrics)
                on = recipe_validation(self.sc, recipe, validation, records)
                return recipe.train(source, workers, on, self._evaluate, epochs=epochs, **options)
            options |= {"evaluate": self._evaluate, "changes": division.training, "metrics": own}
            options["validate_first"] = bool(validate_first)
            held_out = None if validation is None else records(validation)
            if division.held_out is not None:
                held_out = source
            self._remember(source)
            # Unreadable data is refused before training begins.
            with open_validation(self.sc, self.conf, held_out, division.held_out or ()) as on:
                options["validation"] = on
                return fit_network(self.network, source, self.master, workers, epochs, **options)

    def validations(self, history: History) -> DataFrame:
        """Returns a DataFrame of a fit's evaluations by updates.

        These are the evaluations that `validate_every` or a solver's test_interval requested.
        Columns: `iteration`, and a column of lists for each metric.
        """
        return validation_frame(current_session(self.sc), history)

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Writes configuration and vectors to a directory.

        Raises CheckpointError if a model exists there, unless `overwrite` is True.
        """
        self.network.save(path, overwrite=overwrite)

    @classmethod
    def load(cls, sc: Context, path: str | PathLike[str], tm: TrainingMaster | None = None) -> Self:
        """Returns the network that `save` wrote; CheckpointError if it is damaged or no model."""
        return cls(sc, Network.load(path), tm)

    def summary(self, batch_size: int = 64) -> str:
        """Returns a table of layers, output shapes and parameters, with the memory of a step."""
        return self.conf.summary(batch_size)

    def _fit_on_connect(self, source, epochs, tests, division, options):
        from sparkdl.spark.connect.fit import fit as connect_fit  # most sessions don't need it

        changes = ()
        if tests is None and division.held_out is not None:
            tests, changes = source, division.held_out
        on = None if tests is None else self._labelled(tests, changes)
        parts = self.network, self.master, source, epochs, on, division.training
        return connect_fit(self.sc, *parts, options)

    def _remember(self, source):
        """Keeps the transform of an RDD or DataFrame as the default for later uses.

        A source's transform is not kept: a DataFrame may hold its results already.
        """
        if not is_records(source.data):
            return
        before, now = self.network.transform, source.transform
        if now is None and before is not None:
            text = "this fit has no transform; the network's last one had %s: give transform="
            log.warning(text, before)
        self.network.transform = now

    def _labelled(self, records, changes=()):
        """Returns (records, Schema, Evaluator)."""
        schema = schema_of(self.conf, True, records.transform, changes)
        return records, schema, Evaluator(self.conf, records.transform)
