"""A search as an Estimator of pyspark.ml."""

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from pyspark.ml import Estimator
from pyspark.sql import DataFrame

from sparkdl.config import is_integer
from sparkdl.errors import ConfigError, brief, require, require_kind
from sparkdl.ml.classifier import SparkNetworkClassificationModel, SparkNetworkClassifier
from sparkdl.ml.classifier import check_network as check_classes
from sparkdl.ml.columns import keep_own_name
from sparkdl.ml.fit import master_to_train
from sparkdl.ml.regressor import SparkNetworkRegressionModel, SparkNetworkRegressor
from sparkdl.ml.regressor import check_network as check_values
from sparkdl.ml.rows import divide_rows, require_frame, weight_column
from sparkdl.ml.turns import taking_turns
from sparkdl.nn import Conf
from sparkdl.spark.connect.sessions import spark_context
from sparkdl.spark.records.frame_schema import class_names
from sparkdl.tune.search import Search
from sparkdl.tune.votes import VOTINGS

if TYPE_CHECKING:
    import optuna

OWN_PARAMS = "sparkdl params"  # attribute of a trial: {Param: value} set by `define`
UNREAD = ("checkpoints", "resume", "resources", "validateEvery")  # Params of a fit alone
PARAMS = {"epochs": "maxIter", "batch_size": "batchSize"}


class TuneEstimator(Estimator[Any]):
    """Searches for the network of an estimator, as a stage of a Pipeline.

    Its model is that of the estimator, with the best network, or an EnsembleModel of the best ones;
    both can be saved. It cannot be saved itself, since `define` is a function.

    Parameters
    ----------
    estimator : SparkNetworkClassifier or SparkNetworkRegressor
        Columns, epochs (`maxIter`), validation, and what else its Params say of each trial. Its
        `network` is left out. A trial is a fit in one task, unless `distributed`.
    define : function (optuna.Trial) -> conf, or (conf, {"epochs": ..., "batch_size": ...})
        As of Search.
    trials : int
        Number of trials of the study in the end.
    study : optuna.Study, optional
        As in Search: a fit continues it, so use it for one data set only. None: a new study for
        each fit.
    models : int
        Number of best networks in the model.
    voting : "soft", "hard" or "weighted"
        How several vote; see EnsembleModel.
    distributed : bool
        Whether each trial is trained on all slots, as the estimator's `master` says.
    parallelism, path
        As of Search.

    Attributes
    ----------
    search : Search or None
        Search of the last fit, with its study.

    Examples
    --------
    >>> flowers = SparkNetworkClassifier(maxIter=20, validationSplit=0.25, labelCol="species")
    >>> tuner = TuneEstimator(flowers, define, trials=16, models=3)
    >>> model = Pipeline(stages=[indexer, tuner]).fit(train)
    """

    def __init__(
        self,
        estimator: SparkNetworkClassifier | SparkNetworkRegressor,
        define: Callable[["optuna.Trial"], Any],
        trials: int,
        study: "optuna.Study | None" = None,
        *,
        models: int = 1,
        voting: str = "soft",
        distributed: bool = False,
        parallelism: int | None = None,
        path: str | PathLike[str] | None = None,
    ) -> None:
        super().__init__()
        self.estimator, self.define, self.study = estimator, define, study
        self.trials, self.models, self.voting = trials, models, voting
        self.distributed, self.parallelism, self.path = distributed, parallelism, path
        self.search: Search | None = None
        kinds = SparkNetworkClassifier | SparkNetworkRegressor
        named = "a SparkNetworkClassifier or SparkNetworkRegressor"
        require_kind("TuneEstimator.estimator", estimator, kinds, named)
        require_plain(estimator)
        require(self, "define", callable(define), "a function of an optuna.Trial")
        for name in "trials", "models":
            require(self, name, is_integer(getattr(self, name), 1), "an integer >= 1")
        require(self, "voting", voting in VOTINGS, f"one of {list(VOTINGS)}")

    def copy(self, extra: Any = None) -> Self:
        """Returns a copy whose estimator has the values of a param map."""
        copied = super().copy(extra)
        copied.estimator = self.estimator.copy(extra)
        return copied

    def _fit(self, dataset: DataFrame) -> Any:
        require_frame(dataset)
        if dataset.isStreaming:
            raise ConfigError("dataset must not stream; TuneEstimator goes through it many times")
        require_plain(self.estimator)
        stage, sc = self.estimator, spark_context(dataset.sparkSession, type(self).__name__)
        self.search = search = Search(sc, self._define, self.study, **self._options(stage))
        train, validation, options = self._data(stage, dataset)
        with taking_turns(sc):
            search.fit(train, self.trials, validation, **options)
        labels = class_names(dataset.schema[stage.getLabelCol()])
        return self._model(search, labels, dataset.columns)

    def _define(self, trial):
        """Returns the result of `define`, checked as the estimator checks its network."""
        given, stage = self.define(trial), self.estimator
        conf, *options = given if isinstance(given, tuple) else (given,)
        if not isinstance(conf, Conf):
            return given  # the search refuses it
        is_classifier = isinstance(stage, SparkNetworkClassifier)
        (check_classes if is_classifier else check_values)(stage, conf)
        if stage.isDefined(stage.seed):
            conf = replace(conf, seed=stage.getSeed())
        if options and isinstance(options[0], dict):
            trial.set_user_attr(OWN_PARAMS, own_params(options[0]))
        return (conf, *options) if options else conf

    def _options(self, stage):
        """Returns the options of a Search that correspond to the estimator's Params."""
        master = master_to_train(stage)
        return {
            "epochs": stage.getMaxIter(),
            "batch_size": stage.getBatchSize() if stage.isDefined(stage.batchSize) else None,
            "monitor": stage.getMonitor(),
            "patience": stage.getPatience() if stage.isDefined(stage.patience) else None,
            "min_delta": stage.getMinDelta(),
            "restore_best_weights": stage.getRestoreBestWeights(),
            "parallelism": self.parallelism,
            "master": master if self.distributed else None,
            "path": self.path,
            "device": master.device,
        }

    def _data(self, stage, dataset):
        """Returns (training rows, validation rows or None, options of Search.fit)."""
        train, validation, options = divide_rows(stage, dataset)
        options |= {"features": stage.getFeaturesCol(), "label": stage.getLabelCol()}
        options |= {"weights": weight_column(stage), "transform": stage.getPreprocessing()}
        return train, validation, options

    def _model(self, search, labels, columns):
        """Returns the model of the best networks, with the estimator's Params.

        A single network has the Params of its trial; of several networks, Params that differ are
        undefined.
        """
        stage, best = self.estimator, search.best_trials(self.models)
        if self.models > 1:
            model = search.ensemble(self.models, self.voting)
            model.labels = labels
        elif isinstance(stage, SparkNetworkClassifier):
            model = SparkNetworkClassificationModel(*search.best_models(), labels)
        else:
            model = SparkNetworkRegressionModel(*search.best_models())
        found = values_of_trials(stage, [trial.user_attrs.get(OWN_PARAMS, {}) for trial in best])
        own = {name: each.pop() for name, each in found.items() if len(each) == 1}
        stage._copyValues(model, {stage.getParam(name): value for name, value in own.items()})
        for name in found.keys() - own.keys():
            undefine(model, model.getParam(name))
        keep_own_name(model, best_conf(model), columns)
        return model


def require_plain(estimator: Any) -> None:
    """Raises ConfigError for a network, listeners, and Params that trials do not read."""
    if estimator.isDefined(estimator.network):
        raise ConfigError(
            "TuneEstimator.estimator must have no network, got one; define gives the trials'"
        )
    for name in UNREAD:
        if estimator.isDefined(name) and estimator.getOrDefault(name):
            raise ConfigError(
                f"TuneEstimator.estimator must have no {name}, as trials read none, got "
                f"{brief(estimator.getOrDefault(name))}"
            )
    listeners = estimator.getListeners()
    if listeners:
        raise ConfigError(
            "TuneEstimator.estimator must have no listeners, as trials call none, got "
            f"{len(listeners)}"
        )


def best_conf(model: Any) -> Conf:
    """Returns the conf of a model's network, or of the first of several."""
    return (model.networks[0] if hasattr(model, "networks") else model.network).conf


def values_of_trials(estimator: Any, options: list[dict[str, int]]) -> dict[str, set[Any]]:
    """Returns {Param: its values in trials} for the Params that any trial sets itself."""
    names = {name for each in options for name in each}
    rest: dict[str, Any] = {n: estimator.getOrDefault(n) for n in names if estimator.isDefined(n)}
    return {name: {each.get(name, rest.get(name)) for each in options} for name in names}


def undefine(model: Any, param: Any) -> None:
    """Removes a Param's value and default from a model."""
    model.clear(param)
    model._defaultParamMap.pop(param, None)


def own_params(options: dict[str, Any]) -> dict[str, int]:
    """Returns {Param: value} of a trial's own options, without invalid ones, which the search
    refuses.
    """
    return {
        PARAMS[name]: int(value)
        for name, value in options.items()
        if name in PARAMS and is_integer(value, 1)
    }
