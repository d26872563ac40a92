"""Params of the estimators and their models, in addition to those of pyspark.ml."""

from typing import Any, Self

from pyspark.ml.param import Param, Params
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
)

from sparkdl.data.transforms.base import Transform
from sparkdl.errors import ConfigError, brief
from sparkdl.ml.checkpoint_params import HasCheckpoints, HasResources
from sparkdl.ml.documents import (
    conf_of,
    master_of,
    to_listeners,
    to_master,
    to_names,
    to_network,
    to_transform,
    transform_of,
)
from sparkdl.ml.training_params import TrainingParams
from sparkdl.nn import Conf
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.masters.default import default_master
from sparkdl.training.network import Network
from sparkdl.training.reporting.listeners import Listener

NONE_IS_DEFAULT = ("master", "listeners")  # as is that of Params without a default


class HasMaster(Params):
    """Mixin for param master: the method of training, and the device to compute on."""

    master: "Param[str]" = Param(
        Params._dummy(),
        "master",
        "how workers train, and on which device they and the model compute: a TrainingMaster such "
        "as AllReduceSGD(), its name, or its JSON. Unless set it is AllReduceSGD for networks with "
        "tables.",
        typeConverter=to_master,
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(master="ParameterAveraging")

    def getMaster(self) -> TrainingMaster:
        """Returns the value of master or its default value, as a TrainingMaster."""
        return master_of(self.getOrDefault(self.master))

    def master_for(self, conf: Conf) -> TrainingMaster:
        """Returns the master that was set, or else the network's default one."""
        return self.getMaster() if self.isSet(self.master) else default_master(conf)

    def setMaster(self, value: TrainingMaster | str) -> Self:
        """Sets the value of `master`."""
        return self._set(master=value)


class HasPreprocessing(Params):
    """Mixin for param preprocessing: a transform of features, in training and in use."""

    preprocessing: "Param[str]" = Param(
        Params._dummy(),
        "preprocessing",
        "what is done to features before the network gets them, in training (at random where it "
        "is random) and in use: a member of sparkdl.transforms such as Scale(factor=1 / 255), or "
        "its JSON. It is saved with the model.",
        typeConverter=to_transform,
    )

    def getPreprocessing(self) -> Transform | None:
        """Returns the value of preprocessing as a transform; None where it is not set."""
        if not self.isDefined(self.preprocessing):
            return None
        return transform_of(self.getOrDefault(self.preprocessing))

    def setPreprocessing(self, value: Transform | str) -> Self:
        """Sets the value of `preprocessing`."""
        return self._set(preprocessing=value)


class StageParams(HasMaster, HasPreprocessing):
    """Params of all estimators and models."""

    def copy(self, extra: Any = None) -> Self:
        """Returns a copy with the values of a param map, converted as the constructor's are.

        Raises ConfigError for keys that are no Params.
        """
        for param in extra or {}:
            if not isinstance(param, Param):
                kind = type(self).__name__
                raise ConfigError(
                    f"{kind}: keys of a param map must be Params such as estimator.maxIter, got "
                    f"{brief(param)}"
                )
        converted = {
            param: None if value is None else param.typeConverter(value)
            for param, value in (extra or {}).items()
        }
        return super().copy(converted)

    def _set(self, **values: Any) -> Self:
        """Sets Params by name; None, where it stands for a default, leaves a Param out.

        Raises ConfigError for None elsewhere.
        """
        given = {name: value for name, value in values.items() if value is not None}
        for name in values.keys() - given.keys():
            if name not in NONE_IS_DEFAULT and self.hasDefault(name):
                default = self._defaultParamMap[self.getParam(name)]
                raise ConfigError(
                    f"{type(self).__name__}.{name} must have a value, got None; leave it out for "
                    f"the default {default!r}"
                )
            self.clear(self.getParam(name))
        return super()._set(**given)


class HasNetwork(Params):
    """Mixin for param network: the network to train."""

    network: "Param[Any]" = Param(
        Params._dummy(),
        "network",
        "what is trained: a NetworkConf or GraphConf, its JSON, or a Network, from whose weights "
        "training goes on.",
        typeConverter=to_network,
    )

    def getNetwork(self) -> Conf | Network:
        """Returns the value of network: a conf, or the Network that was given."""
        if not self.isDefined(self.network):
            raise ConfigError(
                f"{type(self).__name__}.network must be given: a NetworkConf, GraphConf or Network"
            )
        value = self.getOrDefault(self.network)
        return conf_of(value) if isinstance(value, str) else value.network

    def setNetwork(self, value: Conf | Network | str) -> Self:
        """Sets the value of `network`."""
        return self._set(network=value)


class HasListeners(Params):
    """Mixin for param listeners: listeners of a fit."""

    listeners: "Param[list[Listener]]" = Param(
        Params._dummy(),
        "listeners",
        "members of sparkdl.listeners, or of classes below Listener, that hear of rounds and "
        "epochs on the driver, and may steer the fit. They are of this process: a stage that is "
        "saved has none.",
        typeConverter=to_listeners,
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(listeners=[])

    def getListeners(self) -> list[Listener]:
        """Returns the value of listeners."""
        return self.getOrDefault(self.listeners)

    def setListeners(self, value: list[Listener]) -> Self:
        """Sets the value of `listeners`."""
        return self._set(listeners=value)


class FitParams(
    StageParams, TrainingParams, HasNetwork, HasListeners, HasCheckpoints, HasResources
):
    """Params of all estimators."""

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(maxIter=1)
        self._setDefault(monitor="validation loss", minDelta=0.0, restoreBestWeights=False)

    def setMaxIter(self, value: int) -> Self:
        """Sets the value of `maxIter`, the epochs to train."""
        return self._set(maxIter=value)

    def setSeed(self, value: int) -> Self:
        """Sets the value of `seed`, which takes the place of the network's."""
        return self._set(seed=value)

    def setWeightCol(self, value: str) -> Self:
        """Sets the value of `weightCol`."""
        return self._set(weightCol=value)

    def setBatchSize(self, value: int) -> Self:
        """Sets the value of `batchSize`."""
        return self._set(batchSize=value)

    def setNumWorkers(self, value: int) -> Self:
        """Sets the value of `numWorkers`."""
        return self._set(numWorkers=value)

    def setValidationIndicatorCol(self, value: str) -> Self:
        """Sets the value of `validationIndicatorCol`."""
        return self._set(validationIndicatorCol=value)

    def setValidationSplit(self, value: float) -> Self:
        """Sets the value of `validationSplit`."""
        return self._set(validationSplit=value)

    def setValidateEvery(self, value: int) -> Self:
        """Sets the value of `validateEvery`."""
        return self._set(validateEvery=value)

    def setMonitor(self, value: str) -> Self:
        """Sets the value of `monitor`."""
        return self._set(monitor=value)

    def setPatience(self, value: int) -> Self:
        """Sets the value of `patience`."""
        return self._set(patience=value)

    def setMinDelta(self, value: float) -> Self:
        """Sets the value of `minDelta`."""
        return self._set(minDelta=value)

    def setRestoreBestWeights(self, value: bool) -> Self:
        """Sets the value of `restoreBestWeights`."""
        return self._set(restoreBestWeights=value)


class HasSeveralFeatures(HasFeaturesCol):
    """Param for the names of feature columns, of which there may be several."""

    featuresCol: "Param[Any]" = Param(
        Params._dummy(),
        "featuresCol",
        "features column name, or a list with one for each input; unless given, several inputs "
        "have columns of their own names.",
        typeConverter=to_names,
    )

    def setFeaturesCol(self, value: str | list[str]) -> Self:
        """Sets the value of `featuresCol`."""
        return self._set(featuresCol=value)


class SeveralColumns(
    HasSeveralFeatures, HasLabelCol, HasPredictionCol, HasProbabilityCol, HasRawPredictionCol
):
    """Params for names of columns, each of which may be a list of them."""

    labelCol: "Param[Any]" = Param(
        Params._dummy(),
        "labelCol",
        "label column name, or a list with one for each column of labels; unless given, several "
        "have columns of their outputs' names.",
        typeConverter=to_names,
    )
    predictionCol: "Param[Any]" = Param(
        Params._dummy(),
        "predictionCol",
        "prediction column name, or a list with one for each output; of several outputs one name "
        "is followed by _ and the output's. Empty: none.",
        typeConverter=to_names,
    )
    probabilityCol: "Param[Any]" = Param(
        Params._dummy(),
        "probabilityCol",
        "column name for the probabilities of classes, as predictionCol.",
        typeConverter=to_names,
    )
    rawPredictionCol: "Param[Any]" = Param(
        Params._dummy(),
        "rawPredictionCol",
        "column name for what the probabilities are made of, as predictionCol.",
        typeConverter=to_names,
    )

    def setLabelCol(self, value: str | list[str]) -> Self:
        """Sets the value of `labelCol`."""
        return self._set(labelCol=value)

    def setPredictionCol(self, value: str | list[str]) -> Self:
        """Sets the value of `predictionCol`."""
        return self._set(predictionCol=value)

    def setProbabilityCol(self, value: str | list[str]) -> Self:
        """Sets the value of `probabilityCol`."""
        return self._set(probabilityCol=value)

    def setRawPredictionCol(self, value: str | list[str]) -> Self:
        """Sets the value of `rawPredictionCol`."""
        return self._set(rawPredictionCol=value)
