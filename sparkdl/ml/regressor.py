"""Regression: an estimator, and the model that it fits."""

from typing import Any

from pyspark import keyword_only
from pyspark.ml.regression import RegressionModel, Regressor
from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame

from sparkdl.config.calls import refuse_unknown_options
from sparkdl.data.transforms.base import Transform
from sparkdl.errors import ConfigError
from sparkdl.ml.columns import keep_own_name, one_label
from sparkdl.ml.estimator import NetworkEstimator
from sparkdl.ml.fit import fit_network
from sparkdl.ml.model import NetworkModel
from sparkdl.ml.outputs import fields_of
from sparkdl.ml.params import HasSeveralFeatures
from sparkdl.nn import Conf
from sparkdl.spark.inference.output_columns import VALUES, OutputColumns
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.network import Network
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.saving.checkpoint import Checkpoints


class SparkNetworkRegressor(HasSeveralFeatures, Regressor, NetworkEstimator):
    """Predicts numbers with a network trained on Spark's executors.

    The network ends in an output of values, such as `Output(units=1, loss="mse")`. The same Params
    give the same weights as SparkNetwork.fit with the same options, bit for bit.

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
        A number, or a list or vector of as many as the output has units.
    predictionCol : str, default "prediction"
        Column that the model adds: a double, or a list of floats where the output has several
        units.
    maxIter : int, default 1
        Epochs.
    seed : int, optional
        Seed of all random numbers, instead of the network's.
    weightCol : str, optional
        Column with factors of the examples' losses, in training and evaluation.
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
        maxIter: int = 1,
        seed: int | None = None,
        weightCol: str | None = None,
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
        batchSize: int | None = None,
        numWorkers: int | None = None,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    def _fit(self, dataset: DataFrame) -> "SparkNetworkRegressionModel":
        def names(conf):
            check_network(self, conf)
            given = self.getFeaturesCol(), self.getLabelCol()
            return one_label(self, conf, *given, dataset.columns)

        network, history = fit_network(self, dataset, names)
        model = self.model_with_values(SparkNetworkRegressionModel(network, history))
        keep_own_name(model, network.conf, dataset.columns)
        return model


def check_network(stage: Any, conf: Conf) -> None:
    """Raises ConfigError unless a network predicts values."""
    if conf.loss.predicts != "values":
        raise ConfigError(
            f"{type(stage).__name__}.network must end in values, got {conf.main.name} with "
            f"{conf.loss}; Output(units=1, loss='mse') has one, SparkNetworkClassifier is for "
            "classes"
        )


class SparkNetworkRegressionModel(NetworkModel, HasSeveralFeatures, RegressionModel[Any]):
    """Model of SparkNetworkRegressor.

    It has the Params of its fit, so it shows what a param map chose: `model.getMaxIter()`. It lacks
    `network`, `listeners`, `checkpoints`, `resume` and `resources`. Params that only a fit reads
    have no setters, and are undefined in models that were saved without them.

    Attributes
    ----------
    network : Network
        The trained network; it needs no Spark.
    history : History or None
        History of the fit; a loaded model has none.
    """

    def outputs(self) -> list[OutputColumns]:
        return [OutputColumns(self.network.conf.main.name, VALUES, self.getPredictionCol())]

    def fields(self) -> list[Any]:
        [output] = self.outputs()
        return fields_of(self.network.conf, output)

    def predict(self, value: Any) -> Any:
        """Returns the value, or the array of values, of one record, computed in this process.

        A record is a vector or an array, or {input: array} for a network of several inputs.
        """
        [y] = self.layer_values(value, self.network.conf.main.name)
        return float(y[0]) if y.shape == (1,) else y
