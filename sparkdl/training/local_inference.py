"""The use of a network in this process: predictions, features, evaluations."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from sparkdl.config.calls import refuse_unknown_options
from sparkdl.data.readers.ndarray.arrays import Arrays
from sparkdl.data.source import check_batches
from sparkdl.errors import ConfigError
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.inputs.tbptt import check_carries
from sparkdl.nn.networks.base import Conf
from sparkdl.training.evaluation import Evaluation
from sparkdl.training.evaluation.base import require_examples
from sparkdl.training.evaluation.batch_evaluation import (
    BATCH,
    Evaluator,
    evaluate_batches,
    pieces,
)
from sparkdl.training.evaluation.metrics import MetricsGiven, metrics_of
from sparkdl.training.inputs.minibatch import check_batch_size
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.inputs.sources import Data, as_source
from sparkdl.training.rounds.replica import map_tables
from sparkdl.training.saving.state import TrainState
from sparkdl.training.saving.stored_tables import StoredTables


class LocalInference:
    """The part of Network that does not train."""

    conf: Conf
    state: TrainState
    replica: Replica
    _carried: dict[str, Any]

    @refuse_unknown_options
    def predict(self, features: Any, batch_size: int = BATCH) -> np.ndarray:
        """Returns the output (n, units) for features (n, ...): probabilities for classes.

        Parameters
        ----------
        features : array (n, ...)
        batch_size : int
            Largest number of examples to compute at once; it affects the result only by rounding.
        """
        name = self.conf.output.name
        return self.features(features, [name], batch_size)[name]

    def features(
        self, features: Any, layers: str | Iterable[str], batch_size: int = BATCH
    ) -> dict[str, np.ndarray]:
        """Returns {layer name: output (n, ...)} of one or several layers, for features (n, ...).

        `batch_size` is that of `predict`.

        Raises
        ------
        ConfigError for a layer that does not exist, DataError for features that do not fit.
        """
        check_batch_size(batch_size)
        layers = (layers,) if isinstance(layers, str) else tuple(layers)
        if not layers:
            known = [place.name for place in self.conf.stack]
            raise ConfigError(f"layers must be some of {known}, got none")
        batches, replica = self._batches(Arrays(features), size=batch_size), self._load()
        parts = [replica.forward(batch, layers, size=batch_size) for batch in batches]
        if not parts:
            raise ConfigError("features must hold at least one example, got none")
        return {name: np.concatenate([part[name] for part in parts]) for name in layers}

    def rnn_time_step(self, features: Any) -> np.ndarray:
        """Predicts the next steps of sequences, continuing where the last call ended.

        The names are DL4J's. Step-by-step calls give the same result as `predict` on all steps at
        once, so a network can be fed its own predictions.

        Parameters
        ----------
        features : (n, steps, ...) for several steps, or (n, ...) for one

        Returns
        -------
        (n, steps, units), or (n, units)

        Raises
        ------
        ConfigError if the network carries no state, or the state is that of other sequences.
        """
        check_carries(self.conf)
        features, name = np.asarray(features), self.conf.output.name
        single = features.ndim < 1 + len(next(iter(self.conf.input_shapes.values())))
        steps = features[:, None] if single else features
        y = self._load().forward(steps, [name], self._carried)[name]
        return y[:, 0] if single and y.ndim == 3 else y

    def rnn_clear_previous_state(self) -> None:
        """Makes the next rnn_time_step start new sequences."""
        self._carried = {}

    @refuse_unknown_options
    def evaluate(
        self, data: Data, *, metrics: MetricsGiven = None, output: str | None = None
    ) -> Evaluation:
        """Evaluates the network and returns an Evaluation.

        Parameters
        ----------
        data : Batch, pair (features, labels) or source
        metrics : {name: metric} or sequence of metrics, optional
            Metrics of your own; see `SparkNetwork.evaluate`.
        output : str, optional
            The output layer to evaluate, of several; see `SparkNetwork.evaluate`.
        """
        own = metrics_of(metrics, self.conf, output)
        result = Evaluator(self.conf, metrics=own.counts, output=output).new()
        batches = self._batches(as_source(data), labels=True)
        evaluate_batches(self._load(), batches, result, output)
        require_examples(result)
        own.compute(result)
        return result

    def evaluate_at(self, state: TrainState, validation: Any) -> Evaluation:
        """Returns the Validation's result for another state, which becomes the network's own."""
        self.state = state
        result = validation.evaluator.evaluate(self._load(), validation.batches)
        require_examples(result)
        return result

    @refuse_unknown_options
    def score(self, data: Data, *, output: str | None = None) -> float:
        """Returns the mean loss over a Batch, pair or source; `output` is as in `evaluate`."""
        return self.evaluate(data, output=output).loss

    @refuse_unknown_options
    def score_examples(self, data: Data) -> np.ndarray:
        """Returns the loss of each example of a Batch, pair or source, (n,) float32.

        It is that of the whole network in training, without regularization, times the example's
        weight if it has one.
        """
        batches, replica = self._batches(as_source(data), labels=True), self._load()
        parts = [replica.losses(batch)[1] for batch in batches]
        if not parts:
            raise ConfigError("data must hold at least one example, got none")
        return np.concatenate(parts)

    def _load(self):
        self.replica.load(self.state.params, self.state.buffers, self.state.slots)
        if isinstance(self.state.tables, StoredTables):
            map_tables(self.replica, self.state.tables)
        else:
            self.replica.load_tables(self.state.tables)
        return self.replica

    def _batches(self, source, labels=False, size=BATCH):
        schema = schema_of(self.conf, labels, source.transform)
        for split in source.splits():
            for batch in check_batches(source.read, split, schema):
                yield from pieces(batch, source.transform, self.conf, size)
