"""A network in this process: predict, evaluate, features, save and load, without Spark."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from os import PathLike
from typing import Any, Self

import numpy as np

from sparkdl.config.calls import refuse_unknown_options
from sparkdl.data.readers.ndarray.arrays import Arrays
from sparkdl.data.source import check_batches
from sparkdl.errors import ConfigError, DataError, require
from sparkdl.nn import initial_buffers, initial_params, initial_slots
from sparkdl.nn.execution.device import DEVICES, backend_for
from sparkdl.nn.execution.replica import Replica, make_replica
from sparkdl.nn.inputs.tbptt import check_carries
from sparkdl.nn.networks.base import Conf
from sparkdl.nn.solvers import Lbfgs
from sparkdl.nn.solvers.base import Solution, Solver
from sparkdl.training.evaluation import Evaluation
from sparkdl.training.evaluation.batch_evaluation import (
    BATCH,
    evaluate_batches,
    new_evaluation,
    pieces,
)
from sparkdl.training.fit.full_batch import solve
from sparkdl.training.fit.network_fit import (
    UnfinishedFit,
    fit_network,
    require_tests,
    validation_of,
)
from sparkdl.training.fit.pretraining import pretrain_layers
from sparkdl.training.foreign_models import require_conf
from sparkdl.training.inputs.division import divide
from sparkdl.training.inputs.minibatch import check_batch_size
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.inputs.sources import Data, as_source
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.masters.default import default_master
from sparkdl.training.masters.requirements import require_workers
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.rounds.replica import map_tables
from sparkdl.training.saving.checkpoint import Checkpoints
from sparkdl.training.saving.manifest import refuse_model
from sparkdl.training.saving.model_directory import load_model, save_model
from sparkdl.training.saving.saved_transform import transform_from_json, transform_to_json
from sparkdl.training.saving.slots_owner import check_state, slots_owner
from sparkdl.training.saving.state import TrainState
from sparkdl.training.saving.stored_tables import StoredTables
from sparkdl.training.workers.base import Workers
from sparkdl.training.workers.local import LocalWorkers


class Network:
    """A network and how far its training has come.

    Parameters
    ----------
    conf : NetworkConf
    state : TrainState or None
        Of this conf. None: first values, drawn with the conf's seed.
    device : str
        Where this process uses it: "auto", "cpu" or "cuda"; `fit` has its master's.

    Attributes
    ----------
    history : History or None
        Of the last fit, also of one that was interrupted.
    transform : callable or None
        What the last fit of SparkNetwork did to its RDD or DataFrame; see sparkdl.transforms.
    """

    def __init__(self, conf: Conf, state: TrainState | None = None, device: str = "auto") -> None:
        require_conf(conf)
        self.conf, self.device = conf, device
        require(self, "device", device in DEVICES, f"one of {DEVICES}")
        if state is not None:
            check_state(conf, state)
        self.state = first_state(conf) if state is None else state
        self._carried: dict[str, Any] = {}
        self.history: History | None = None
        self.transform: Any = None
        self.unfinished: UnfinishedFit | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "replica"}

    @cached_property
    def replica(self) -> Replica:
        return make_replica(self.conf, backend_for(self.conf, self.device))

    @refuse_unknown_options
    def fit(
        self,
        data: Data,
        epochs: int | None = None,
        master: TrainingMaster | None = None,
        workers: Workers | None = None,
        *,
        updates: int | None = None,
        validation: Data | None = None,
        validation_split: float | None = None,
        class_weight: dict[int, float] | None = None,
        validate_every: int | None = None,
        validate_first: bool = False,
        evaluate: Callable[..., Evaluation] | None = None,
        listeners: Iterable[Listener] = (),
        checkpoints: Checkpoints | None = None,
        resume: str | PathLike[str] | bool | None = None,
    ) -> History:
        """Trains on this machine; a script calls this below `if __name__ == "__main__":`.

        Parameters
        ----------
        data : Batch, pair (features, labels) or source
        epochs : int, optional
            Epochs to train, after those before. 1 unless given; as many as `updates` takes.
        master : TrainingMaster, optional
            None: ParameterAveraging(), or AllReduceSGD() for a network with tables.
        workers : Workers, optional
            Unless given as many processes of this machine as the master asks for, or two.
        updates : int, optional
            The update to stop after at the latest, counted from the network's first. With
            asynchronous masters, and with backup workers, it may be some updates later.
        validation : Batch, pair or source, optional
            Evaluated after each epoch, or where `validate_every` says.
        validation_split : float, optional
            Share of the records that are held out and evaluated, in place of `validation`: each is
            drawn by the seed and a hash of what it holds. So another fit with this seed holds out
            the same, and equal records stay together.
        class_weight : {class: factor}, optional
            Factors of the losses of a class's examples in training, 0 and 1 of a yes or no; 1 for
            those that are left out.
        validate_every : int, optional
            Updates between two evaluations. They end rounds of averaging: see `Listener`.
        validate_first : bool, default False
            Whether to evaluate before the first update, too.
        evaluate : function (state, validation) -> Evaluation, optional
            Evaluates in place of this process; `validation` may then be anything.
        listeners : sequence of Listener
            Called as the fit goes on, in this order.
        checkpoints : Checkpoints, optional
            Where and how often the state of training is saved.
        resume : path or True, optional
            Of a checkpoint, or of a folder of them, to go on from: the fit then ends with the
            weights that it would have had without the interruption, where two whole fits have the
            same weights (not with asynchronous masters or backup workers). The same number of
            workers is needed. True: of this network's last fit, which was interrupted or stopped,
            from the weights that it ended with: best ones that EarlyStopping restored, or else
            those after the last round that was kept. A checkpoint has its last round's.

        A fit that is interrupted (Ctrl-C, an error of a listener, lost workers) keeps what was
        trained: the network has the weights after the last round that the driver knows, `history`
        goes as far, and the same call with `resume=True` goes on.

        Returns
        -------
        History

        Raises
        ------
        ConfigError, DataError
            Before anything is trained: a bad option, or a record that cannot be used.
        DivergedError
            The loss is no longer finite; the network keeps the weights from before the fit.
        """
        master = default_master(self.conf) if master is None else master
        require_workers(master, workers)
        require_tests(validate_every, validate_first, validation, validation_split)
        source = as_source(data)
        division = divide(self.conf, master, validation, validation_split, class_weight)
        if division.held_out is not None:
            validation = validation_of(self.conf, source, division.held_out)
        own_workers = LocalWorkers(master.workers or 2) if workers is None else None
        try:
            return fit_network(
                self,
                source,
                master,
                own_workers if workers is None else workers,
                epochs,
                updates=updates,
                validation=validation,
                validate_every=validate_every,
                validate_first=validate_first,
                evaluate=evaluate,
                listeners=listeners,
                checkpoints=checkpoints,
                resume=resume,
                changes=division.training,
            )
        finally:
            if own_workers is not None:
                own_workers.close()

    def fit_full_batch(self, data: Data, solver: Solver | None = None) -> Solution:
        """Trains on all examples at once, which stay in memory, in this process.

        For small data and networks, where exact gradients pay: no optimizer, rate or clipping is
        used, and the network ends at a least value of its loss.

        Parameters
        ----------
        data : Batch, pair (features, labels) or source
        solver : Solver
            None: Lbfgs().

        Returns
        -------
        Solution
        """
        batches = self._batches(as_source(data), labels=True)
        solver = Lbfgs() if solver is None else solver
        self.state, solution = solve(self.replica, batches, solver, self.state)
        return solution

    @refuse_unknown_options
    def pretrain(
        self,
        data: Data,
        layers: str | Iterable[str] | None = None,
        epochs: int | None = 1,
        master: TrainingMaster | None = None,
        workers: Workers | None = None,
        *,
        updates: int | None = None,
        listeners: Iterable[Listener] = (),
    ) -> dict[str, History]:
        """Trains layers that give their input back (AutoEncoder ...), one after the other.

        Parameters
        ----------
        data : Batch, pair (features, labels) or source
            Labels are not looked at.
        layers : str or sequence of str, optional
            Names. None: all such layers, in their order.
        epochs, master, workers, updates, listeners
            For each layer, as in `fit`.

        Returns
        -------
        {layer name: History}
        """
        names, listeners = (layers,) if isinstance(layers, str) else layers, tuple(listeners)

        def fit(part):
            return part.fit(data, epochs, master, workers, updates=updates, listeners=listeners)

        return pretrain_layers(self, names, fit)

    @refuse_unknown_options
    def predict(self, features: Any, batch_size: int = BATCH) -> np.ndarray:
        """Returns the output (n, units) for features (n, ...): probabilities for classes.

        Parameters
        ----------
        features : array (n, ...)
        batch_size : int
            How many examples are computed at once, at most; it makes no difference to the result,
            but for rounding.
        """
        name = self.conf.output.name
        return self.features(features, [name], batch_size)[name]

    def features(
        self, features: Any, layers: str | Iterable[str], batch_size: int = BATCH
    ) -> dict[str, np.ndarray]:
        """Returns {layer name: output (n, ...)} for features (n, ...), for a name or several.

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
        """Predicts the next steps of sequences, which go on where the last call ended.

        The names are DL4J's. Calls step by step give what `predict` gives for all steps at once,
        so a network can be fed what it has predicted.

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
    def evaluate(self, data: Data) -> Evaluation:
        """Returns an Evaluation over a Batch, a pair (features, labels) or a source."""
        result = new_evaluation(self.conf)
        evaluate_batches(self._load(), self._batches(as_source(data), labels=True), result)
        if not result.examples:
            raise DataError("there are no records to evaluate on")
        return result

    def evaluate_at(self, state: TrainState, validation: Any) -> Evaluation:
        """Returns the Validation's result for another state, which becomes the network's own."""
        self.state = state
        result = validation.evaluator.evaluate(self._load(), validation.batches)
        if not result.examples:
            raise DataError("there are no records to evaluate on")
        return result

    @refuse_unknown_options
    def score(self, data: Data) -> float:
        """Returns the mean loss over the examples of a Batch, pair or source."""
        return self.evaluate(data).loss

    def summary(self, batch_size: int = 64) -> str:
        """Returns a table of layers, output shapes and parameters, with the memory of a step."""
        return self.conf.summary(batch_size)

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Writes conf and state to a directory, local or of another file system.

        Raises CheckpointError where a model is there, unless `overwrite`; it is replaced once the
        new one is whole.

        A transform that is a member of sparkdl.transforms is written too; another function is not,
        and a warning says so.

        A model has no state of single workers (TrainState.worker_states): a fit that goes on from
        it begins without. A checkpoint has it.
        """
        if not overwrite:
            refuse_model(path)
        state = replace(self.state, worker_states=(), owner="")
        save_model(path, self.conf, state, transform_to_json(self.transform))

    @classmethod
    def load(cls, path: str | PathLike[str], device: str = "auto") -> Self:
        """Returns the network that `save` wrote; CheckpointError where it is damaged or foreign."""
        conf, state, extra = load_model(path)
        network = cls(conf, state, device)
        network.transform = transform_from_json(path, extra)
        return network

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


def first_state(conf):
    """Returns the initial state of training."""
    vectors = {
        "params": initial_params(conf),
        "buffers": initial_buffers(conf),
        "slots": initial_slots(conf),
    }
    return TrainState(**vectors, seed=conf.seed, slots_owner=slots_owner(conf))
