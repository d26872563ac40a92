"""A network in this process: predict, evaluate, features, save and load, without Spark."""

from dataclasses import replace
from functools import cached_property

import numpy as np

from sparkdl.data.batches.batch import Batch
from sparkdl.data.batches.type_names import kind_of, package_of
from sparkdl.data.readers.ndarray.arrays import Arrays
from sparkdl.data.source import checked_batches
from sparkdl.errors import CheckpointError, ConfigError, DataError, require
from sparkdl.nn import initial_buffers, initial_params, initial_slots
from sparkdl.nn.execution.device import DEVICES, choose_backend
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.inputs.tbptt import check_carries
from sparkdl.nn.solvers import Lbfgs
from sparkdl.training.evaluation.batch_evaluation import (
    Judge,
    evaluate_batches,
    new_evaluation,
    pieces,
)
from sparkdl.training.fit.full_batch import solve
from sparkdl.training.fit.pretraining import pretrain_layers
from sparkdl.training.fit.trainer import Trainer, check_epochs, start_state
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.reporting.phases import Phases
from sparkdl.training.rounds.milestones import Milestones
from sparkdl.training.saving.checkpoint import load_checkpoint
from sparkdl.training.saving.model_directory import load_model, save_model
from sparkdl.training.saving.state import TrainState
from sparkdl.training.workers.base import Validation
from sparkdl.training.workers.local import LocalWorkers

# What to do with data that is of a package that we do not take data of.
COLUMNS = "give its columns as arrays: (df[names].to_numpy(), df[label].to_numpy())"
CURES = {"pandas": COLUMNS, "polars": COLUMNS, "pyspark": "SparkNetwork takes it"}


class Network:
    """A network and how far its training has come.

    Parameters
    ----------
    conf : NetworkConf
    state : TrainState or None
        None: first values, drawn with the conf's seed.
    device : str
        Where this process uses it: "auto", "cpu" or "cuda"; `fit` has its master's.
    """

    def __init__(self, conf, state=None, device="auto"):
        self.conf, self.device = conf, device
        require(self, "device", device in DEVICES, f"one of {DEVICES}")
        self.state = first_state(conf) if state is None else state
        self._carried = {}

    @cached_property
    def replica(self):
        return Replica(self.conf, choose_backend(self.device))

    def fit(self, data, epochs=1, master=None, workers=None, **options):
        """Trains on this machine; returns a History. See `fit_network` for the options."""
        master = ParameterAveraging() if master is None else master
        own = LocalWorkers(master.workers or 2) if workers is None else None
        try:
            used = own if workers is None else workers
            return fit_network(self, as_source(data), master, used, epochs, **options)
        finally:
            if own is not None:
                own.close()

    def fit_full_batch(self, data, solver=None):
        """Trains on all examples at once, which stay in memory, in this process.

        For small data and networks, where exact gradients pay: no optimizer, rate or clipping is
        used, and the network ends at a least value of its loss.

        Parameters
        ----------
        data : Batch, pair (features, labels) or source
        solver : Solver
            Lbfgs() unless given.

        Returns
        -------
        Solution
        """
        batches = self._batches(as_source(data), labels=True)
        solver = Lbfgs() if solver is None else solver
        self.state, solution = solve(self.replica, batches, solver, self.state)
        return solution

    def pretrain(self, data, layers=None, **options):
        """Trains layers that give their input back (AutoEncoder ...), one after the other.

        Parameters
        ----------
        data : Batch, pair (features, labels) or source
            Labels are not looked at.
        layers : str or sequence of str
            Names; all such layers, in their order, unless given.
        options : of `fit` (epochs, master ...)

        Returns
        -------
        {layer name: History}
        """
        names = (layers,) if isinstance(layers, str) else layers
        return pretrain_layers(self, names, lambda part: part.fit(data, **options))

    def predict(self, features):
        """Returns the output (n, units) for features (n, ...): probabilities for classes."""
        name = self.conf.output.name
        return self.features(features, [name])[name]

    def features(self, features, layers):
        """Returns {layer name: output (n, ...)} for features (n, ...), for a name or several.

        Raises
        ------
        ConfigError for a layer that does not exist, DataError for features that do not fit.
        """
        layers = (layers,) if isinstance(layers, str) else tuple(layers)
        if not layers:
            known = [place.name for place in self.conf.stack]
            raise ConfigError(f"layers must be some of {known}, got none")
        batches = self._batches(Arrays(features))
        parts = [self._loaded().forward(batch, layers) for batch in batches]
        if not parts:
            raise ConfigError("features must hold at least one example, got none")
        return {name: np.concatenate([part[name] for part in parts]) for name in layers}

    def rnn_time_step(self, features):
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
        y = self._loaded().forward(steps, [name], self._carried)[name]
        return y[:, 0] if single else y

    def rnn_clear_previous_state(self):
        """Makes the next rnn_time_step start new sequences."""
        self._carried = {}

    def evaluate(self, data):
        """Returns an Evaluation over a Batch, a pair (features, labels) or a source."""
        result = new_evaluation(self.conf)
        evaluate_batches(self._loaded(), self._batches(as_source(data), labels=True), result)
        if not result.examples:
            raise DataError("there are no records to evaluate on")
        return result

    def evaluate_at(self, state, validation):
        """Returns the Validation's result for another state, which becomes the network's own."""
        self.state = state
        result = validation.judge.judged(self._loaded(), validation.batches)
        if not result.examples:
            raise DataError("there are no records to evaluate on")
        return result

    def score(self, data):
        """Returns the mean loss over the examples of a Batch, pair or source."""
        return self.evaluate(data).loss

    def save(self, path):
        """Writes conf and state to a directory, local or of another file system.

        Without what workers have each for themselves (TrainState.own): a model is for use, and a
        fit that goes on from it begins without; a checkpoint has it.
        """
        save_model(path, self.conf, replace(self.state, own=(), owner=""))

    @classmethod
    def load(cls, path, device="auto"):
        """Returns the network that `save` wrote; CheckpointError where it is damaged or foreign."""
        conf, state, _ = load_model(path)
        return cls(conf, state, device)

    def _loaded(self):
        self.replica.load(self.state.params, self.state.buffers, self.state.slots)
        return self.replica

    def _batches(self, source, labels=False):
        schema = schema_of(self.conf, labels, source.transform)
        for split in source.splits():
            for batch in checked_batches(source.read, split, schema):
                yield from pieces(batch, source.transform, self.conf)


def fit_network(
    network,
    data,
    master,
    workers,
    epochs,
    *,
    updates=None,
    validation=None,
    validate_every=None,
    validate_first=False,
    evaluate=None,
    listeners=(),
    checkpoints=None,
    resume=None,
):
    """Trains `network` in place.

    Parameters
    ----------
    network : Network
    data : what workers.load takes
    epochs : number of epochs to train, after those before; None: as many as `updates` takes
    updates : the update to stop after at the latest, counted from the network's first, or None.
        With asynchronous masters, and with backup workers, it may be some updates later
    validation : data to evaluate on, or None; a Validation that the workers know is evaluated by
        them, where they stay for the whole fit
    validate_every : updates between two evaluations; None: there is one after each epoch
    validate_first : whether there is one before the first update, too
    evaluate : function (state, validation) -> Evaluation; on this process unless given
    listeners : sequence of Listener
    checkpoints : Checkpoints or None
    resume : path of a checkpoint, or of a folder of them, to go on from: the fit then ends with
        the weights that it would have had without the interruption, where two whole fits have the
        same weights (not with asynchronous masters or backup workers). Another number of workers
        is refused

    A state of elsewhere, with updates but no rounds, goes on at the place in the data where a fit
    from the start has that many.

    Returns
    -------
    History of this fit's rounds.
    """
    phases = Phases()
    marks = Milestones(last=updates, validate=validate_every, first=validate_first)
    epochs = updates if epochs is None else epochs  # an epoch has an update at least
    check_epochs(epochs)
    conf, extra = network.conf, {}
    state = start_state(conf, master, network.state)
    if resume is not None:
        state, extra = load_to_resume(conf, resume)
    master, why, without_group = master.resolved(workers, extra)
    options = {"listeners": listeners, "checkpoints": checkpoints, "marks": marks}
    options |= {"without_group": without_group, "phases": phases}
    options |= evaluation_options(conf, master, state, validation, evaluate)
    trainer = Trainer(conf, master, workers, **options)
    transform = getattr(data, "transform", None)
    schema, options = schema_of(conf, transform=transform), with_seed(master, state)
    phases.end("starting")
    blocks = workers.load(data, schema, master.records_per_block, options)
    phases.end("starting", blocks.seconds)
    try:
        if resume is not None:
            trainer.check_resumed(blocks, extra, resume)
        elif state.iteration and not state.rounds:
            state = trainer.placed(blocks, state)
        network.state, history = trainer.fit(blocks, state, epochs, transform, extra)
    finally:
        blocks.close()
    phases.end("ending")
    history.aggregation = why
    return history


def evaluation_options(conf, master, state, validation, evaluate):
    """Returns the options of a Trainer that say where to evaluate and on what."""
    if validation is None:
        return {}
    if evaluate is None and not isinstance(validation, Validation):
        source = as_source(validation)
        validation = Validation(CheckedBatches(conf, source), Judge(conf, source.transform))
    evaluate = evaluate or Network(conf, state, master.device).evaluate_at

    def by_driver(state):
        return evaluate(state, validation)

    if master.resident and isinstance(validation, Validation):
        return {"validation": validation, "evaluate": by_driver}
    return {"evaluate": by_driver}


class CheckedBatches:
    """The Batches of a source, checked for a network; may be gone through several times."""

    def __init__(self, conf, source):
        self.schema, self.source = schema_of(conf, transform=source.transform), source

    def __iter__(self):
        for split in self.source.splits():
            yield from checked_batches(self.source.read, split, self.schema)


def with_seed(master, state):
    """Returns the master with the seed that the run has; its own may be None."""
    return replace(master, seed=state.seed)


def load_to_resume(conf, path):
    """Returns state and extra of the checkpoint at `path`, which must be of this network."""
    saved, state, extra = load_checkpoint(path)
    if saved != conf:
        raise CheckpointError(f"{path} holds another network than the one to be trained")
    return state, extra


def first_state(conf):
    """Returns the initial state of training."""
    vectors = {
        "params": initial_params(conf),
        "buffers": initial_buffers(conf),
        "slots": initial_slots(conf),
    }
    return TrainState(**vectors, seed=conf.seed)


def as_source(data):
    """Returns a source from a Batch, a pair (features, labels), or a source."""
    if isinstance(data, Batch):
        return Arrays.of(data)
    if isinstance(data, tuple) and len(data) == 2:
        return Arrays(*data)
    if hasattr(data, "splits") and hasattr(data, "read"):
        return data
    cure = CURES.get(package_of(data))
    raise ConfigError(
        f"data must be a Batch, (features, labels) or a source, got {kind_of(data)}"
        f"{f'; {cure}' if cure else ''}"
    )
