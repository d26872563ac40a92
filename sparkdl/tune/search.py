"""A search for the best network: trials of an Optuna study, run by Spark's executors."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from sparkdl.config import is_integer
from sparkdl.config.calls import refuse_unknown_options
from sparkdl.data.records.schema import FEATURES
from sparkdl.errors import ConfigError, brief, require_kind
from sparkdl.spark.connect.sessions import is_connect, is_frame, spark_context
from sparkdl.spark.jobs.one_call import one_call
from sparkdl.spark.jobs.shared_processes import shared_processes
from sparkdl.spark.records.feature_columns import require_column_name
from sparkdl.spark.records.records import Changes, Data
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.network import Network
from sparkdl.training.reporting.monitor import VALIDATION, Monitor
from sparkdl.tune.checks import check_figure, check_options
from sparkdl.tune.execution import run_distributed, run_locally
from sparkdl.tune.models import Models
from sparkdl.tune.optuna_package import import_optuna
from sparkdl.tune.search_data import SearchData
from sparkdl.tune.study_run import StudyRun
from sparkdl.tune.trial_setup import TrialSetup
from sparkdl.tune.votes import weights_of

if TYPE_CHECKING:
    import optuna
    import pandas

    from sparkdl.tune.ensemble import EnsembleModel


class Search:
    """A search for the network, and the options of its fit, with the best metric.

    Trials run in parallel, each a fit in one task of an executor. With `master` each is a
    SparkNetwork.fit instead, one after another. A lost executor costs the epochs that were running
    there; a trial that diverges fails, and the study continues.

    Parameters
    ----------
    sc : SparkContext or SparkSession
    define : function (optuna.Trial) -> conf, or (conf, {"epochs": ..., "batch_size": ...})
        The search space: it asks the trial for values, and returns the network to try with them.
    study : optuna.Study, optional
        Its sampler proposes values, its pruner ends trials early, and a search resumes from its
        storage. None: a new one in memory. A step is the number of epochs done, from 1: a pruner's
        n_warmup_steps=k spares the first k - 1.
    epochs : int
        Of each trial, unless `define` gives others.
    batch_size : int, optional
        Examples of a minibatch, unless `define` gives others. None: 64, of `master` its own.
    monitor : str, optional
        The metric, as in EarlyStopping. None: "validation loss", or "loss" without validation data.
    mode : "auto", "min" or "max"
        Which value is better; "auto" knows it for all metrics of sparkdl.
    patience : int, optional
        Evaluations without improvement after which a trial ends.
    min_delta : float
        A smaller change does not count as better, for `patience`.
    restore_best_weights : bool
        Whether a trial has the metric and weights of its best epoch, not of its last.
    parallelism : int, optional
        Trials to run at once. None: one for each slot of the executors.
    master : TrainingMaster, optional
        How to train each trial on the whole cluster, for networks or data too large for one
        executor.
    path : path, optional
        Folder for the networks of finished trials, local or of another file system. None: they
        stay in the driver's memory.
    device : str
        Where trials compute: "auto", "cpu" or "cuda"; of `master` its own counts.

    Examples
    --------
    >>> def define(trial):
    ...     rate = trial.suggest_float("rate", 1e-4, 1e-1, log=True)
    ...     units = trial.suggest_int("units", 8, 64)
    ...     layers = [Dense(units=units, activation="relu"), Output(units=3)]
    ...     return NetworkConf(input_shape=(4,), layers=layers, optimizer=Adam(learning_rate=rate))
    >>> search = Search(spark, define, epochs=20, monitor="validation accuracy")
    >>> search.fit(train, trials=16, validation=test).best_value
    0.98
    >>> search.best_models(3), search.ensemble(3, voting="soft")
    """

    @refuse_unknown_options
    def __init__(
        self,
        sc: SparkContext | SparkSession,
        define: Callable[["optuna.Trial"], Any],
        study: "optuna.Study | None" = None,
        *,
        epochs: int = 1,
        batch_size: int | None = None,
        monitor: str | None = None,
        mode: str = "auto",
        patience: int | None = None,
        min_delta: float = 0.0,
        restore_best_weights: bool = False,
        parallelism: int | None = None,
        master: TrainingMaster | None = None,
        path: str | PathLike[str] | None = None,
        device: str = "auto",
    ) -> None:
        is_session = isinstance(sc, SparkSession) or is_connect(sc)
        self.sc = spark_context(sc, type(self).__name__) if is_session else sc
        self._optuna = import_optuna()
        require_kind("sc", self.sc, SparkContext, "a SparkContext or SparkSession")
        self.define, self.study, self.master = define, study, master
        self.epochs, self.batch_size, self.parallelism = epochs, batch_size, parallelism
        self.monitor, self.mode, self.patience = monitor, mode, patience
        self.min_delta = min_delta
        self.restore_best_weights, self.device = restore_best_weights, device
        check_options(self, self._optuna)
        self._models = Models(path)
        self._fitted: dict[str, Any] = {"features": None, "label": "label", "transform": None}

    @refuse_unknown_options
    def fit(
        self,
        data: Data,
        trials: int,
        validation: Data | None = None,
        *,
        features: str = "features",
        label: str = "label",
        weights: str | None = None,
        transform: Changes | None = None,
        validation_split: float | None = None,
        class_weight: dict[int, float] | None = None,
    ) -> "optuna.Study":
        """Runs trials until the study has this many, including pruned and failed ones.

        Trials that an earlier search of the study finished are not run again; those that it had
        running are, with the same values.

        Parameters
        ----------
        data : data
            Read once for all trials; see SparkNetwork.
        trials : int
        validation : data, optional
            Data on which trials are evaluated after each epoch.
        features, label, weights, transform, validation_split, class_weight
            As in SparkNetwork.fit.

        Returns
        -------
        optuna.Study

        Raises
        ------
        ConfigError, DataError
            Before any trial: a bad option, or a record that cannot be used.
        WorkerError
            All trials have failed; says why the first one did.
        """
        if not is_integer(trials, 1):
            raise ConfigError(f"trials must be an integer >= 1, got {brief(trials)}")
        require_column_name(features)
        columns: dict[str, Any] = {"features": features, "label": label}
        given = SearchData(
            data=data,
            validation=validation,
            columns=columns,
            weights=weights,
            transform=transform,
            validation_split=validation_split,
            class_weight=class_weight,
        )
        monitor = self._monitor(given.has_validation)
        self.study = study = self._study_for(monitor)
        self._models.check(len(study.get_trials(deepcopy=False)))
        self._fitted = columns | {"transform": given.records().transform}
        if features == FEATURES and not (is_frame(data) and features in data.columns):
            self._fitted["features"] = None  # a bag may have read a column of its own
        run = StudyRun(self._optuna, study, self.define, self._defaults(), trials)
        run.take_up()
        with one_call(self.sc), shared_processes(self.sc, data, validation):
            try:
                if (first := run.next()) is not None:
                    self._run(run, first, given, monitor)
            finally:
                run.take_up()  # of trials that were interrupted
        run.require_some()
        return study

    def best_trials(self, n: int = 1) -> "list[optuna.trial.FrozenTrial]":
        """Returns the best `n` trials that were finished, the best first, of equals the first."""
        if not is_integer(n, 1):
            raise ConfigError(f"n must be an integer >= 1, got {brief(n)}")
        study, states = self._begun_study(), self._optuna.trial.TrialState
        done = study.get_trials(deepcopy=False, states=[states.COMPLETE])
        if len(done) < n:
            raise ConfigError(
                f"n must be at most {len(done)}, got {n}: so many trials were finished; the others "
                "were pruned or have failed, see table()"
            )
        larger = self._larger_is_better()
        return sorted(done, key=lambda trial: -trial.value if larger else trial.value)[:n]

    def best_models(self, n: int = 1) -> list[Network]:
        """Returns the networks of the best finished trials, the best first."""
        return [self._models.get(trial.number) for trial in self.best_trials(n)]

    def ensemble(
        self, n: int, voting: str = "soft", weights: Sequence[float] | None = None
    ) -> "EnsembleModel":
        """Returns the best `n` networks as one model of pyspark.ml.

        Parameters
        ----------
        n : int
            Networks.
        voting : "soft", "hard" or "weighted"
            "soft": the mean of the probabilities, or of the values. "hard": the class that most
            networks predict, the first of equals. "weighted": the mean, weighted by the networks'
            figures; of figures of which less is better, by one over them.
        weights : sequence of float, optional
            Weights of the networks, the best first, instead of these.
        """
        from sparkdl.tune.ensemble import EnsembleModel

        figures = [trial.value for trial in self.best_trials(n)]
        if voting == "weighted" and weights is None:
            weights = weights_of(figures, self._larger_is_better())
        model = EnsembleModel(self.best_models(n), voting, weights)
        model.setLabelCol(self._fitted["label"])
        if self._fitted["features"] is not None:
            model.setFeaturesCol(self._fitted["features"])
        if self._fitted["transform"] is not None:
            model.setPreprocessing(self._fitted["transform"])
        return model

    def table(self) -> "pandas.DataFrame":
        """Returns the trials of the study: numbers, values, parameters, seconds, hosts, reasons."""
        return self._begun_study().trials_dataframe()

    def _repr_html_(self) -> str:
        from sparkdl.tune.notebook import search_html  # needed only in notebooks

        return search_html(self.study)

    def _run(self, run, first, given, monitor):
        check_figure(first[1].conf, monitor, given.has_validation)
        setup = TrialSetup(
            transform=given.records().transform,
            validation_transform=given.validation_transform,
            validation_split=given.validation_split,
            class_weight=given.class_weight,
            monitor=monitor,
            mode=self.mode,
            patience=self.patience,
            min_delta=self.min_delta,
            restore_best_weights=self.restore_best_weights,
            device=self.device,
        )
        if self.master is None:
            run_locally(self.sc, run, first, given, setup, self._models, self.parallelism)
        else:
            run_distributed(self.sc, run, first, given, setup, self._models, self.master)

    def _monitor(self, has_validation):
        return self.monitor or (f"{VALIDATION}loss" if has_validation else "loss")

    def _study_for(self, monitor):
        """Returns the study, creating it if necessary; its direction must suit the figure."""
        larger = Monitor(monitor, self.mode).larger_is_better
        wanted = "maximize" if larger else "minimize"
        if self.study is None:
            return self._optuna.create_study(direction=wanted)
        actual = self.study.direction.name.lower()
        if actual != wanted:
            raise ConfigError(
                f"Search.study must have the direction {wanted!r} for {monitor!r}, got {actual!r}; "
                f"optuna.create_study(direction={wanted!r}), or give Search a mode"
            )
        return self.study

    def _defaults(self):
        size = 64 if self.master is None else self.master.batch_size_per_worker
        return {"epochs": self.epochs, "batch_size": self.batch_size or size}

    def _begun_study(self):
        if self.study is None:
            raise ConfigError("Search.fit must come first: there are no trials yet")
        return self.study

    def _larger_is_better(self):
        return self._begun_study().direction == self._optuna.study.StudyDirection.MAXIMIZE
