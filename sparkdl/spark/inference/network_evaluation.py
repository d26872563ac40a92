"""Evaluations of a network on a cluster."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from sparkdl.config.calls import refuse_unknown_options
from sparkdl.nn import Conf
from sparkdl.spark.connect.sessions import is_connect
from sparkdl.spark.gpu_process.dispatch import run_partition_on_device
from sparkdl.spark.inference.evaluations import UnreadRecords, evaluate
from sparkdl.spark.jobs.jvm import living_jvm
from sparkdl.spark.jobs.one_call import one_call
from sparkdl.spark.jobs.running_context import require_running
from sparkdl.spark.jobs.shared_processes import shared_processes
from sparkdl.spark.jobs.user_code import check_pickles
from sparkdl.spark.records.feature_columns import Columns
from sparkdl.spark.records.records import (
    Change,
    Changes,
    Data,
    SparkRecords,
    require_own_weights,
)
from sparkdl.spark.records.weight_columns import Weights
from sparkdl.training.evaluation import Evaluation
from sparkdl.training.evaluation.batch_evaluation import Evaluator
from sparkdl.training.evaluation.metrics import MetricsGiven, metrics_of
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.network import Network
from sparkdl.training.workers.base import Validation


class NetworkEvaluation:
    """The part of SparkNetwork that evaluates."""

    sc: Any
    network: Network
    transform_for: Callable[..., Change | None]
    _require_frames: Callable[..., None]
    _master_on: Callable[[str | None], TrainingMaster]
    _model_of: Callable[..., tuple[Any, ...]]
    _task_on_device: Callable[..., Any]

    if TYPE_CHECKING:

        @property
        def conf(self) -> Conf: ...

    @refuse_unknown_options
    def evaluate(
        self,
        data: Data,
        *,
        features: Columns = "features",
        label: str = "label",
        weights: Weights = None,
        transform: Changes | Literal[False] | None = None,
        device: str | None = None,
        metrics: MetricsGiven = None,
        output: str | None = None,
    ) -> Evaluation:
        """Evaluates the network on labelled data and returns an Evaluation.

        Parameters
        ----------
        data : data
        features, label, weights : str
            Column names, for records with named columns; `features` may be a list of a DataFrame's
            columns of numbers. Weights say how much each example counts,
            as scikit-learn's sample_weight; the loss is the mean of losses times weights, as in
            training. None: each counts 1. Of several columns of labels they may be {column of
            labels: column}.
        transform : callable or list of transforms, optional
            Applied to minibatches of an RDD or DataFrame; see sparkdl.transforms. None: the
            transform of the fit, which is saved with the network. False: no transform.
        device : "auto", "cpu" or "cuda", optional
            None: the master's.
        metrics : {name: metric} or sequence of metrics, optional
            Metrics of your own, which become figures of the Evaluation; those of a sequence have
            the names of their functions or classes. A subclass of Evaluation, called with the
            number of outputs, or an Evaluation without examples: executors count, and the counts
            add up, so records may be many. If its `figures` are several, they are "name/figure". Or
            a function (labels, predictions) -> number: the driver calls it once, with the arrays
            (n,) or (n, k) and (n, units) of all records, in any order, of sequences and images of
            all steps and pixels that count, without weights. Executors send these arrays to the
            driver; an evaluation fails where those of a partition, or of all, exceed 256 MB. Or the
            name of an output layer: all its figures, as "name/figure", with its own loss. None: the
            figures of all outputs; an empty sequence: of the main output alone, which saves time
            where there are many.
        output : str, optional
            Name of the output layer to evaluate, of a network with several. Figures, metrics and
            `wrong` are then those of this output; `loss` is its own loss, as in Keras without its
            loss_weight and without terms that other layers add. None: the output with the largest
            loss_weight, the first of equals, with the loss of the whole network. The data must have
            the labels of all outputs in any case.

        Raises
        ------
        ConfigError
            The network has no such output. A metric raises an error, is not a number, or cannot be
            pickled; it is named.
        DataError
            A record cannot be used, there are none, or there are too many for functions.
        """
        require_running(self.sc)
        transform = self.transform_for(data, transform)
        require_own_weights(data, weights)
        records = SparkRecords(data, features, label, weights, transform)
        if is_connect(self.sc):
            self._require_frames(data)
        own = metrics_of(metrics, self.conf, output)
        own.check_sending(check_pickles)
        make = partial(Evaluator, self.conf, metrics=own.counts, output=output)
        result = self.evaluate_by(make, records, device)
        own.compute(result)
        return result

    @refuse_unknown_options
    def score(
        self,
        data: Data,
        *,
        features: Columns = "features",
        label: str = "label",
        weights: Weights = None,
        transform: Changes | Literal[False] | None = None,
        device: str | None = None,
        output: str | None = None,
    ) -> float:
        """Returns the mean loss over labelled data; each option is as in `evaluate`."""
        options: dict[str, Any] = {"features": features, "label": label, "weights": weights}
        options |= {"transform": transform, "device": device, "output": output}
        return self.evaluate(data, **options).loss

    def evaluate_by(
        self,
        make: Callable[[Change | None], Evaluator],
        records: SparkRecords,
        device: str | None = None,
    ) -> Evaluation:
        """Returns the Evaluation of labelled records by the Evaluator that `make` returns.

        `make` receives the records' transform; a source has its own.
        """
        state, master = self.network.state, self._master_on(device)
        evaluator, schema = make(records.transform), schema_of(self.conf, True, records.transform)
        if is_connect(self.sc):
            from sparkdl.spark.connect.evaluation import evaluate as connect_evaluate

            model = self._model_of(state, master)
            return connect_evaluate(model, records, schema, evaluator, master.task_device)
        sharing = shared_processes(self.sc, records.data)
        with living_jvm("the evaluation"), one_call(self.sc), sharing:
            data = Validation(UnreadRecords(records, schema), evaluator)
            return self._evaluate(state, data, device)

    def _evaluate(self, state, data, device=None):
        master = self._master_on(device)
        on_device = partial(self._task_on_device, run_partition_on_device, master)
        return evaluate(self.sc, self._model_of(state, master), data, on_device)
