"""A network in this process: predict, evaluate, features, save and load, without Spark."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from multiprocessing.reduction import ForkingPickler
from os import PathLike
from typing import Any, Self

from sparkdl.cached_value import cached_value
from sparkdl.config.calls import refuse_unknown_options
from sparkdl.errors import ConfigError, require
from sparkdl.nn import initial_buffers, initial_params, initial_slots
from sparkdl.nn.execution.device import DEVICES, backend_for
from sparkdl.nn.execution.replica import Replica, make_replica
from sparkdl.nn.networks.base import Conf
from sparkdl.nn.optimization.weight_average import averaged_groups, averaged_params
from sparkdl.nn.solvers import Lbfgs
from sparkdl.nn.solvers.base import Solution, Solver
from sparkdl.training.evaluation import Evaluation
from sparkdl.training.evaluation.metrics import MetricsGiven, metrics_of
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
from sparkdl.training.inputs.sources import Data, as_source
from sparkdl.training.local_inference import LocalInference
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.masters.default import default_master
from sparkdl.training.masters.requirements import require_workers
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.saving.checkpoint import Checkpoints
from sparkdl.training.saving.manifest import refuse_model
from sparkdl.training.saving.model_directory import load_model, save_model
from sparkdl.training.saving.saved_transform import transform_from_json, transform_to_json
from sparkdl.training.saving.slots_owner import check_state, slots_owner
from sparkdl.training.saving.state import TrainState
from sparkdl.training.workers.base import Workers
from sparkdl.training.workers.local import LocalWorkers


class Network(LocalInference):
    """A network and the state of its training.

    Parameters
    ----------
    conf : NetworkConf
    state : TrainState or None
        State to start from, of this conf. None: initial weights, drawn with the conf's seed.
    device : str
        Device on which this process computes: "auto", "cpu" or "cuda"; `fit` uses its master's.

    Attributes
    ----------
    history : History or None
        History of the last fit, even if it was interrupted.
    transform : callable or None
        Transform that the last SparkNetwork fit applied to its RDD or DataFrame; see
        sparkdl.transforms.
    """

    @refuse_unknown_options
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

    @cached_value
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
        metrics: MetricsGiven = None,
        listeners: Iterable[Listener] = (),
        checkpoints: Checkpoints | None = None,
        resume: str | PathLike[str] | bool | None = None,
    ) -> History:
        """Trains on this machine; a script calls it under `if __name__ == "__main__":`.

        Parameters
        ----------
        data : Batch, pair (features, labels) or source
        epochs : int, optional
            Epochs to train, in addition to those already trained. Default: 1, or as many as
            `updates` needs.
        master : TrainingMaster, optional
            None: ParameterAveraging(), or AllReduceSGD() for a network with tables.
        workers : Workers, optional
            None: local processes, as many as the master asks for, or two.
        updates : int, optional
            Stop after this update, counted from the network's first. Asynchronous masters and
            backup workers may train a few updates more.
        validation : Batch, pair or source, optional
            Data to evaluate on after each epoch, or every `validate_every` updates.
        validation_split : float, optional
            Fraction of the records to hold out for evaluation, instead of `validation`. A record is
            chosen by the seed and a hash of its content, so another fit with the same seed holds
            out the same records, and equal records stay together.
        class_weight : {class: factor}, optional
            Factor of the training loss for each class; a binary output has the classes 0 and 1.
            Classes left out have factor 1.
        validate_every : int, optional
            Updates between two evaluations. An evaluation ends an averaging round early: see
            `Listener`.
        validate_first : bool, default False
            Whether to evaluate before the first update, too.
        evaluate : function (state, validation) -> Evaluation, optional
            Called instead of evaluating in this process; `validation` may then be anything.
        metrics : {name: metric} or sequence of metrics, optional
            Metrics of your own for each evaluation; see `SparkNetwork.evaluate`. Listeners monitor
            them as "validation name". Evaluation classes must be such that pickle finds them.
        listeners : sequence of Listener
            Called during the fit, in this order.
        checkpoints : Checkpoints, optional
            Where and how often to save the training state.
        resume : path or True, optional
            A checkpoint, or a folder of checkpoints, to resume from, with the same number of
            workers. The fit then ends with the weights of an uninterrupted fit, unless the master
            is asynchronous or has backup workers, so that no two fits agree. True: resume this
            network's last fit, which was interrupted or stopped, from the weights it ended with:
            the best ones if EarlyStopping restored them, otherwise those after the last round kept.
            A checkpoint always holds the weights of its last round.

        An interrupted fit (Ctrl-C, an error in a listener, lost workers) keeps its progress: the
        network has the weights after the last round known to the driver, `history` ends there, and
        the same call with `resume=True` continues.

        Returns
        -------
        History

        Raises
        ------
        ConfigError, DataError
            Raised before training: an invalid option, or a record that cannot be used.
        DivergedError
            The loss is no longer finite; the network keeps the weights from before the fit.
        """
        master = default_master(self.conf) if master is None else master
        require_workers(master, workers)
        require_tests(validate_every, validate_first, metrics, validation, validation_split)
        own = metrics_of(metrics, self.conf)
        own.check_sending(ForkingPickler.dumps)
        if metrics and evaluate is not None:
            raise ConfigError(
                "metrics must be left out where evaluate= is given, which returns the Evaluation"
            )
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
                metrics=own if evaluate is None else None,
                listeners=listeners,
                checkpoints=checkpoints,
                resume=resume,
                changes=division.training,
            )
        finally:
            if own_workers is not None:
                own_workers.close()

    def fit_full_batch(self, data: Data, solver: Solver | None = None) -> Solution:
        """Trains on all examples at once, in memory, in this process.

        For small data and networks, where exact gradients pay off. No optimizer, learning rate or
        clipping is used; the solver looks for a local minimum of the loss.

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

    def with_averaged_weights(self) -> Self:
        """Returns a network with the moving average of the weights that an optimizer keeps.

        It is for predictions, evaluations and `save`; this network trains on from its own weights.
        An optimizer keeps the average where it has an `ema_decay`. Parameters of layers whose
        optimizer has none, rows of tables, and buffers, such as running means of BatchNorm, are as
        in this network. `fit_full_batch` and `pretrain` leave the average as it is. Before the
        first update these are the weights of this network.

        Raises
        ------
        ConfigError
            No optimizer keeps an average.

        Examples
        --------
        >>> from sparkdl import Adam, Network, NetworkConf, Output
        >>> optimizer = Adam(learning_rate=0.001, ema_decay=0.999)
        >>> network = Network(NetworkConf(input_shape=(4,), layers=[Output(units=2)],
        ...                               optimizer=optimizer))
        >>> averaged = network.with_averaged_weights()
        """
        state, conf = self.state, self.conf
        if conf.has_own_optimizer:
            raise ConfigError(
                f"{type(conf).__name__}.optimizer must be one of sparkdl with an ema_decay for an "
                "average of the weights, got the framework's own; make the model with "
                "optimizer=Adam(ema_decay=0.999) instead"
            )
        if not averaged_groups(conf.groups):
            raise ConfigError(
                f"{conf.optimizer.type_name}.ema_decay must be a number in (0, 1) for an average "
                "of the weights, got None; give it before the fit"
            )
        params = averaged_params(conf, state.params, state.slots)
        state = state.with_weights(params, state.buffers)
        network = type(self)(conf, state, self.device)
        network.transform = self.transform
        return network

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
        """Pretrains unsupervised layers (AutoEncoder ...), one after another.

        Parameters
        ----------
        data : Batch, pair (features, labels) or source
            Labels are ignored.
        layers : str or sequence of str, optional
            Names of layers. None: all unsupervised layers, in order.
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

    def summary(self, batch_size: int = 64) -> str:
        """Returns a table of layers, output shapes and parameters, with the memory of a step."""
        return self.conf.summary(batch_size)

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Writes conf and state to a directory, local or on another file system.

        Raises CheckpointError if a model exists there, unless `overwrite` is True; the old model is
        then replaced once the new one is complete.

        A transform from sparkdl.transforms is saved too; any other function is not, and a warning
        says so.

        A saved model lacks the state of single workers (TrainState.worker_states), so a fit that
        continues from it starts without; a checkpoint has it.
        """
        if not overwrite:
            refuse_model(path)
        state = replace(self.state, worker_states=(), owner="")
        save_model(path, self.conf, state, transform_to_json(self.transform))

    @classmethod
    def load(cls, path: str | PathLike[str], device: str = "auto") -> Self:
        """Returns the network that `save` wrote; CheckpointError if it is damaged or no model."""
        conf, state, extra = load_model(path)
        network = cls(conf, state, device)
        network.transform = transform_from_json(path, extra)
        return network


def first_state(conf):
    """Returns the initial state of training."""
    vectors = {
        "params": initial_params(conf),
        "buffers": initial_buffers(conf),
        "slots": initial_slots(conf),
    }
    return TrainState(**vectors, seed=conf.seed, slots_owner=slots_owner(conf))
