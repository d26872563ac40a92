"""Classification: an estimator, and the model that it fits."""

from collections.abc import Sequence
from typing import Any, Self

from pyspark import keyword_only
from pyspark.ml.classification import ProbabilisticClassificationModel, ProbabilisticClassifier
from pyspark.ml.linalg import DenseVector, Vectors
from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame

from sparkdl.config.calls import refuse_unknown_options
from sparkdl.data.transforms.base import Transform
from sparkdl.errors import ConfigError
from sparkdl.ml.columns import keep_own_name, one_label
from sparkdl.ml.estimator import NetworkEstimator
from sparkdl.ml.evaluation import with_names
from sparkdl.ml.fit import fit_network
from sparkdl.ml.model import NetworkModel
from sparkdl.ml.outputs import check_names, class_count, fields_of, is_flat, kind_of_output
from sparkdl.ml.params import HasSeveralFeatures
from sparkdl.ml.training_params import HasClassWeights
from sparkdl.nn import Conf
from sparkdl.nn.execution.forward import Z
from sparkdl.spark.inference.output_columns import (
    VALUES,
    OutputColumns,
    predict_class,
    probabilities,
    raw_scores,
)
from sparkdl.spark.inference.threshold_evaluator import ThresholdEvaluator
from sparkdl.spark.records.frame_schema import class_names
from sparkdl.training.evaluation import Evaluation
from sparkdl.training.evaluation.batch_evaluation import Evaluator
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.network import Network
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.saving.checkpoint import Checkpoints


class SparkNetworkClassifier(
    HasSeveralFeatures, ProbabilisticClassifier, NetworkEstimator, HasClassWeights
):
    """Classifies records with a network trained on Spark's executors.

    The network ends in an output with a probability for each class (`Output(units=3)`), or in a
    binary output (`Output(units=1, loss="sigmoid_cross_entropy")`). The same Params give the same
    weights as SparkNetwork.fit with the same options, bit for bit.

    Parameters
    ----------
    network : NetworkConf, GraphConf, Network, or JSON
        Network to train. A Network continues from its weights.
    master : TrainingMaster, its name, or JSON, default "ParameterAveraging"
        How workers train, and on which device they and the model compute.
    preprocessing : member of sparkdl.transforms, or JSON, optional
        Transform of the features, in training and inference; saved with the model.
    featuresCol : str or list of str, default "features"
        A column, or one for each input in the network's order: vectors (dense or sparse), lists of
        numbers, binary (bytes as numbers), or images of one size, as spark.read.format("image")
        gives them (BGR). By default several inputs read columns of their names.
    labelCol : str, default "label"
        Classes from 0 on. Texts are indexed first: StringIndexer(inputCol=..., outputCol="label"),
        whose names of classes the model keeps.
    predictionCol, probabilityCol, rawPredictionCol : str
        Columns that the model adds: the class (double), the class probabilities (vector), and the
        raw predictions (vector); by default "prediction", "probability", "rawPrediction". "" for
        none.
    maxIter : int, default 1
        Epochs.
    seed : int, optional
        Seed of all random numbers, instead of the network's.
    weightCol : str, optional
        Column with factors of the examples' losses, in training and evaluation.
    classWeights : list of float, optional
        Factor of the losses of each class.
    validationIndicatorCol : str, optional
        Boolean column: rows that are held out and evaluated after each epoch, or as validateEvery
        says; see model.history.
    validationSplit : float, optional
        Fraction of the rows, in (0, 1), to hold out, instead of validationIndicatorCol.
    validateEvery : int, optional
        Updates between two evaluations. None: one after each epoch.
    monitor : str, default "validation loss"
        Metric for the next three Params; "loss" is the training loss.
    patience : int, optional
        Evaluations without improvement after which the fit ends: epochs, unless validateEvery is
        given.
    minDelta : float, default 0.0
        A smaller change does not count as an improvement.
    restoreBestWeights : bool, default False
        Whether the model gets the weights of the best evaluation, not the last ones.
    thresholds : list of float, optional
        One for each class: the class with the largest probability / threshold is predicted.
    listeners : list of Listener, optional
        Listeners of the fit; a saved stage has none.
    checkpoints : Checkpoints, or JSON, optional
        Where and how often to save the training state. Each fit needs a folder of its own, so a
        CrossValidator takes no stage that has them.
    resume : bool, default False
        Whether to continue from the newest checkpoint in the folder of `checkpoints`, which then
        gives the weights of an uninterrupted fit: see SparkNetwork.fit. Where there is none the fit
        begins, so a program that is started again needs no change.
    resources : ResourceProfile, optional
        Cores and GPUs of each training task: see SparkNetwork. A saved stage has none.
    batchSize : int, optional
        Minibatch size per worker. Default: the master's, 64.
    numWorkers : int, optional
        Number of workers. Default: the master's, as many as the cluster runs at once.

    Examples
    --------
    >>> conf = NetworkConf(input_shape=(4,), layers=[Dense(units=16), Output(units=3)])
    >>> model = SparkNetworkClassifier(network=conf, maxIter=20, seed=1).fit(train)
    >>> model.transform(test).select("prediction", "probability")
    """

    @refuse_unknown_options
    @keyword_only
    def __init__(
        self,
        *,
        network: Conf | Network | str | None = None,
        master: TrainingMaster | str | None = None,
        preprocessing: Transform | str | None = None,
        featuresCol: str | list[str] = "features",
        labelCol: str = "label",
        predictionCol: str = "prediction",
        probabilityCol: str = "probability",
        rawPredictionCol: str = "rawPrediction",
        maxIter: int = 1,
        seed: int | None = None,
        weightCol: str | None = None,
        classWeights: list[float] | None = None,
        validationIndicatorCol: str | None = None,
        validationSplit: float | None = None,
        validateEvery: int | None = None,
        monitor: str = "validation loss",
        patience: int | None = None,
        minDelta: float = 0.0,
        restoreBestWeights: bool = False,
        listeners: list[Listener] | None = None,
        checkpoints: Checkpoints | str | None = None,
        resume: bool = False,
        resources: ResourceProfile | None = None,
        thresholds: list[float] | None = None,
        batchSize: int | None = None,
        numWorkers: int | None = None,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    def setClassWeights(self, value: list[float]) -> Self:
        """Sets the value of `classWeights`."""
        return self._set(classWeights=value)

    def _fit(self, dataset: DataFrame) -> "SparkNetworkClassificationModel":
        def names(conf):
            check_network(self, conf)
            check_names(self)
            given = self.getFeaturesCol(), self.getLabelCol()
            return one_label(self, conf, *given, dataset.columns)

        network, history = fit_network(self, dataset, names)
        labels = class_names(dataset.schema[self.getLabelCol()])
        model = SparkNetworkClassificationModel(network, labels, history)
        self.model_with_values(model)
        keep_own_name(model, network.conf, dataset.columns)
        return model


def check_network(
    stage: Any, conf: Conf, params: Sequence[str] = ("classWeights", "thresholds")
) -> None:
    """Raises ConfigError unless a network classifies, into as many classes as the Params list."""
    kind, output = type(stage).__name__, conf.main
    if kind_of_output(output) == VALUES or not is_flat(output):
        raise ConfigError(
            f"{kind}.network must end in classes, got {output.name} with {output.layer.loss}; "
            "Output(units=3) has three; SparkNetworkRegressor is for values, SparkNetworkEstimator "
            "also for several yes-or-no labels"
        )
    for param in params:
        values = stage.getOrDefault(param) if stage.isDefined(param) else None
        if values is not None and len(values) != class_count(output):
            must = f"one for each of {class_count(output)} classes"
            raise ConfigError(f"{kind}.{param} must have {must}, got {len(values)}: {values}")
        is_sound = values is None or (all(v >= 0 for v in values) and values.count(0) < 2)
        if not is_sound:  # NaN neither
            must = "numbers above 0, but for one that may be 0"
            raise ConfigError(f"{kind}.{param} must be {must}, got {values}")


def thresholds_of(stage: Any, conf: Conf) -> tuple[float, ...] | None:
    """Returns a model's thresholds, None if it has none. Raises as `check_network`."""
    if not stage.isDefined("thresholds"):
        return None
    check_network(stage, conf, ["thresholds"])
    return tuple(stage.getThresholds())


class SparkNetworkClassificationModel(
    NetworkModel, HasSeveralFeatures, HasClassWeights, ProbabilisticClassificationModel
):
    """Model of SparkNetworkClassifier.

    It has the Params of its fit, so it shows what a param map chose: `model.getMaxIter()`. It lacks
    `network`, `listeners`, `checkpoints`, `resume` and `resources`. Params that only a fit reads
    have no setters, and are undefined in models that were saved without them.

    Attributes
    ----------
    network : Network
        The trained network; it needs no Spark.
    labels : tuple of str, or None
        Names of the classes, if the label column had them.
    history : History or None
        History of the fit; a loaded model has none.
    """

    _kept = ("labels",)

    def __init__(
        self,
        network: Network,
        labels: Sequence[str] | None = None,
        history: History | None = None,
    ) -> None:
        super().__init__(network, history)
        self.labels = None if labels is None else tuple(labels)

    @property
    def numClasses(self) -> int:
        """Number of classes."""
        return class_count(self.network.conf.main)

    def outputs(self) -> list[OutputColumns]:
        main = self.network.conf.main
        names = self.getPredictionCol(), self.getProbabilityCol(), self.getRawPredictionCol()
        return [OutputColumns(main.name, kind_of_output(main), *names, self._thresholds())]

    def fields(self) -> list[Any]:
        [output] = self.outputs()
        return fields_of(self.network.conf, output, self.labels)

    def _thresholds(self):
        return thresholds_of(self, self.network.conf)

    def evaluate(self, dataset: DataFrame) -> Evaluation:
        """Evaluates the model on labelled data and returns an Evaluation, with class names if
        known.

        Counts of classes, with accuracy, precision, recall and f1, use the classes that `transform`
        predicts, by `thresholds` if given. Loss, AUC and the probabilities of `wrong` ignore
        thresholds. Rows count as their weights say, if `weightCol` is given and the DataFrame has
        the column.
        """
        return with_names(super().evaluate(dataset), self.network.conf.main, self.labels)

    def evaluator(self, transform: Any) -> Evaluator:
        conf, thresholds = self.network.conf, self._thresholds()
        if thresholds is None:
            return super().evaluator(transform)
        return ThresholdEvaluator(conf, transform, kind_of_output(conf.main), thresholds)

    def predict(self, value: Any) -> float:
        """Returns the class of one record, computed in this process.

        It is a vector or an array, or {input: array} for a network of several inputs.
        """
        return float(predict_class(self._probabilities(value), self._thresholds())[0])

    def predictProbability(self, value: Any) -> DenseVector:
        """Returns the probability of each class of one record."""
        return Vectors.dense(self._probabilities(value)[0])

    def predictRaw(self, value: Any) -> DenseVector:
        """Returns the raw prediction of one record, from which the probabilities follow."""
        main = self.network.conf.main
        [z] = self.layer_values(value, main.name + Z)
        return Vectors.dense(raw_scores(z[None], kind_of_output(main))[0])

    def _probabilities(self, value):
        main = self.network.conf.main
        [y] = self.layer_values(value, main.name)
        return probabilities(y[None], kind_of_output(main))
