"""Params of a fit, shared by estimators and their models: getters here, setters in estimators."""

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasMaxIter, HasSeed, HasValidationIndicatorCol, HasWeightCol


class HasValidation(HasValidationIndicatorCol):
    """Mixin for params of validation: its rows, and the use of its figures."""

    validationSplit: "Param[float]" = Param(
        Params._dummy(),
        "validationSplit",
        "share of the rows that is not trained on but evaluated, after each epoch or as "
        "validateEvery says, in the place of validationIndicatorCol; rows are drawn by a hash and "
        "the seed, equal ones together.",
        typeConverter=TypeConverters.toFloat,
    )
    validateEvery: "Param[int]" = Param(
        Params._dummy(),
        "validateEvery",
        "updates between two evaluations, in the place of one after each epoch.",
        typeConverter=TypeConverters.toInt,
    )
    monitor: "Param[str]" = Param(
        Params._dummy(),
        "monitor",
        'the figure that patience and restoreBestWeights look at: "validation loss", "validation '
        'accuracy" ..., or "loss" of training.',
        typeConverter=TypeConverters.toString,
    )
    patience: "Param[int]" = Param(
        Params._dummy(),
        "patience",
        "evaluations without a better figure after which the fit ends: epochs, unless "
        "validateEvery is given.",
        typeConverter=TypeConverters.toInt,
    )
    minDelta: "Param[float]" = Param(
        Params._dummy(),
        "minDelta",
        "a smaller change of the figure does not count as better.",
        typeConverter=TypeConverters.toFloat,
    )
    restoreBestWeights: "Param[bool]" = Param(
        Params._dummy(),
        "restoreBestWeights",
        "whether the model has the weights of the evaluation with the best figure, not the last "
        "ones.",
        typeConverter=TypeConverters.toBoolean,
    )

    def getValidationSplit(self) -> float:
        """Returns the value of validationSplit."""
        return self.getOrDefault(self.validationSplit)

    def getValidateEvery(self) -> int:
        """Returns the value of validateEvery."""
        return self.getOrDefault(self.validateEvery)

    def getMonitor(self) -> str:
        """Returns the value of monitor or its default value."""
        return self.getOrDefault(self.monitor)

    def getPatience(self) -> int:
        """Returns the value of patience."""
        return self.getOrDefault(self.patience)

    def getMinDelta(self) -> float:
        """Returns the value of minDelta or its default value."""
        return self.getOrDefault(self.minDelta)

    def getRestoreBestWeights(self) -> bool:
        """Returns the value of restoreBestWeights or its default value."""
        return self.getOrDefault(self.restoreBestWeights)


class TrainingParams(HasValidation, HasMaxIter, HasSeed, HasWeightCol):
    """Params of all estimators that their models have as well.

    Only estimators set their defaults, and a fit copies them to its model: in a model that was not
    fitted, or was saved by an older version, they are undefined.
    """

    batchSize: "Param[int]" = Param(
        Params._dummy(),
        "batchSize",
        "examples of a worker's minibatch, in the place of the master's batch_size_per_worker.",
        typeConverter=TypeConverters.toInt,
    )
    maxIter: "Param[int]" = Param(
        Params._dummy(),
        "maxIter",
        "epochs: passes over the training rows (>= 1).",
        typeConverter=TypeConverters.toInt,
    )
    numWorkers: "Param[int]" = Param(
        Params._dummy(),
        "numWorkers",
        "number of workers, in the place of the master's workers; if neither is set as many as "
        "the cluster runs at once. The result depends on it.",
        typeConverter=TypeConverters.toInt,
    )

    def __init__(self) -> None:
        super().__init__()
        # pyspark's default differs between processes; without one the network's own seed is used.
        self._defaultParamMap.pop(self.seed)

    def getBatchSize(self) -> int:
        """Returns the value of batchSize."""
        return self.getOrDefault(self.batchSize)

    def getNumWorkers(self) -> int:
        """Returns the value of numWorkers."""
        return self.getOrDefault(self.numWorkers)


class HasClassWeights(Params):
    """Mixin for param classWeights: factors of the losses of classes."""

    classWeights: "Param[list[float]]" = Param(
        Params._dummy(),
        "classWeights",
        "factor of the losses of each class, in their order; weightCol multiplies it.",
        typeConverter=TypeConverters.toListFloat,
    )

    def getClassWeights(self) -> list[float]:
        """Returns the value of classWeights."""
        return self.getOrDefault(self.classWeights)
