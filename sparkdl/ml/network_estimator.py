"""Networks of any kind: several inputs and outputs, sequences, images."""

from functools import partial
from typing import Any

from pyspark import keyword_only
from pyspark.ml import Model
from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame

from sparkdl.config.calls import refuse_unknown_options
from sparkdl.data.transforms.base import Transform
from sparkdl.ml.columns import keep_own_name, output_names, several_names
from sparkdl.ml.estimator import NetworkEstimator
from sparkdl.ml.evaluation import with_names
from sparkdl.ml.fit import fit_network
from sparkdl.ml.model import NetworkModel
from sparkdl.ml.outputs import check_names, fields_of, kind_of_output
from sparkdl.ml.params import SeveralColumns
from sparkdl.nn import Conf
from sparkdl.spark.inference.output_columns import VALUES, OutputColumns
from sparkdl.spark.records.frame_schema import class_names
from sparkdl.training.evaluation import Evaluation
from sparkdl.training.evaluation.batch_evaluation import Evaluator
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.network import Network
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.saving.checkpoint import Checkpoints


class SparkNetworkEstimator(NetworkEstimator, SeveralColumns):
    """Trains a network of any kind: with several inputs or outputs, on sequences or images.

    The same Params give the same weights as SparkNetwork.fit with the same options, bit for bit.

    Parameters
    ----------
    network : NetworkConf, GraphConf, Network, or JSON
        Network to train. A Network continues from its weights.
    master : TrainingMaster, its name, or JSON, default "ParameterAveraging"
        How workers train, and on which device they and the model compute.
    preprocessing : member of sparkdl.transforms, or JSON, optional
        Transform of the features, in training and inference; saved with the model.
    featuresCol : str or list of str, default "features"
        A column, or one for each input: vectors, lists of numbers (nested for sequences), binary
        (bytes as numbers), or images of one size, as spark.read.format("image") returns them. By
        default several inputs read columns of their names.
    labelCol : str or list of str, default "label"
        A column, or one for each column of labels. By default several outputs read columns of their
        names.
    predictionCol, probabilityCol, rawPredictionCol : str or list of str
        Columns that the model adds for each output: the class or value and, for classes, their
        probabilities and the raw predictions; by default "prediction", "probability",
        "rawPrediction". With several outputs, a single name is followed by _ and the output's name.
        "" for none. Sequences and images have flat lists of floats.
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
        labelCol: str | list[str] = "label",
        predictionCol: str | list[str] = "prediction",
        probabilityCol: str | list[str] = "probability",
        rawPredictionCol: str | list[str] = "rawPrediction",
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

    def _fit(self, dataset: DataFrame) -> "SparkNetworkModel":
        def names(conf):
            check_names(self)
            given = self.getFeaturesCol(), self.getLabelCol()
            return several_names(self, conf, *given, dataset.columns)

        network, history = fit_network(self, dataset, names)
        columns = names(network.conf)[1]
        labels = {column: class_names(dataset.schema[name]) for column, name in columns.items()}
        model = self.model_with_values(SparkNetworkModel(network, labels, history))
        keep_own_name(model, network.conf, dataset.columns)
        return model


class SparkNetworkModel(NetworkModel, SeveralColumns, Model):
    """Model of SparkNetworkEstimator.

    It has the Params of its fit, so it shows what a param map chose: `model.getMaxIter()`. It lacks
    `network`, `listeners`, `checkpoints`, `resume` and `resources`. Params that only a fit reads
    have no setters, and are undefined in models that were saved without them.

    Attributes
    ----------
    network : Network
        The trained network; it needs no Spark.
    labels : {column of labels: names of its classes, or None}
        Columns by the names that the network has for them: "labels" where there is one.
    history : History or None
        History of the fit; a loaded model has none.
    """

    _kept = ("labels",)

    def __init__(
        self,
        network: Network,
        labels: dict[str, Any] | None = None,
        history: History | None = None,
    ) -> None:
        super().__init__(network, history)
        given = labels or {}
        self.labels = {name: None if of is None else tuple(of) for name, of in given.items()}

    def _names(self, known):
        given = self.getFeaturesCol(), self.getLabelCol()
        return several_names(self, self.network.conf, *given, known)

    def outputs(self) -> list[OutputColumns]:
        places = self.network.conf.outputs
        layers, kinds = [place.name for place in places], [kind_of_output(p) for p in places]
        params = ("predictionCol", "probabilityCol", "rawPredictionCol")
        names = [output_names(self, p, layers, self.getOrDefault(p)) for p in params]
        found = []
        for layer, kind, prediction, *more in zip(layers, kinds, *names, strict=True):
            found.append(OutputColumns(layer, kind, prediction, *(more if kind != VALUES else [])))
        return found

    def fields(self) -> list[Any]:
        conf, found = self.network.conf, []
        for place, output in zip(conf.outputs, self.outputs(), strict=True):
            found += fields_of(conf, output, self.labels.get(conf.label_column(place)))
        return found

    def evaluate(self, dataset: DataFrame, output: str | None = None) -> Evaluation:
        """Returns an Evaluation of an output, with the names of its classes if known.

        `output` is that of `SparkNetwork.evaluate`; None: the main output. Rows count as their
        weights say, if `weightCol` is given and the DataFrame has the column.
        """
        conf = self.network.conf
        place = conf.output_named(output)
        evaluation = self._evaluate_by(partial(Evaluator, conf, output=output), dataset)
        return with_names(evaluation, place, self.labels.get(conf.label_column(place)))
