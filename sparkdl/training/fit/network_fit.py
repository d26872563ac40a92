"""A fit of a network: its initial state, its evaluation, and the state that it leaves."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from sparkdl.config import is_integer
from sparkdl.data.records.label_facts import facts_of, nothing_to_evaluate, require_weight
from sparkdl.errors import CheckpointError, ConfigError, DivergedError, brief
from sparkdl.own_folders import check_budgets
from sparkdl.training.evaluation.batch_evaluation import Evaluator
from sparkdl.training.fit.trainer import Trainer, check_epochs, start_state
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.inputs.sources import CheckedBatches, as_source
from sparkdl.training.reporting.automatic_listeners import automatic_listeners
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.phases import Phases
from sparkdl.training.reporting.slow_workers import SlowWorkerLog
from sparkdl.training.rounds.milestones import Milestones
from sparkdl.training.saving.checkpoint import Checkpoints, load_checkpoint
from sparkdl.training.saving.slots_owner import check_state
from sparkdl.training.workers.base import Validation, closing_data


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
    metrics=None,
    listeners=(),
    checkpoints=None,
    resume=None,
    changes=(),
):
    """Trains `network` in place.

    Parameters
    ----------
    network : Network
    data : what workers.load takes
    epochs : number of further epochs to train; None: as many as `updates` takes
    updates : the update to stop after at the latest, counted from the network's first, or None.
        With asynchronous masters and with backup workers it may be some updates later
    validation : data to evaluate on, or None; resident workers evaluate a Validation themselves
    validate_every : updates between two evaluations; None: evaluate after each epoch
    validate_first : whether to evaluate before the first update, too
    evaluate : function (state, validation) -> Evaluation; None: evaluate in this process
    metrics : Metrics or None, of the evaluations
    listeners : sequence of Listener
    checkpoints : Checkpoints or None
    resume : path of a checkpoint, or of a folder of them, to resume: the fit then ends with the
        weights that it would have had without the interruption, if two uninterrupted fits have
        the same weights (not with asynchronous masters or backup workers). The number of workers
        must be the same; SparkWorkers that were given none take it over. True: resumes the
        network's last fit, which was interrupted or stopped, from its state; without `epochs` and
        `updates`, up to where it would have ended
    changes : tuple of callable, applied to the training records; see Schema

    A state from elsewhere, with updates but no rounds, continues at the place in the data that a
    fit from the start would have reached after the same updates. A state from inside an epoch
    continues there if the numbers of records and workers and the master are unchanged; else the
    next epoch begins.

    However a fit is interrupted, the network is left with the last state known to the driver and a
    History up to that state; after a DivergedError it keeps its previous state.

    Returns
    -------
    History of this fit's rounds.
    """
    phases, listeners = Phases(), check_followers(listeners, checkpoints)
    check_budgets()
    resume = None if resume is False else resume
    check_counts(updates=updates, validate_every=validate_every)
    epochs, updates = duration(network, epochs, updates, resume)
    marks = Milestones(last=updates, validate=validate_every, first=validate_first)
    conf, (state, extra) = network.conf, start(network, master, resume)
    if resume is not None and "workers" in extra:
        workers.keep_size(extra["workers"])
    master, why, without_group = master.for_network(conf).resolve(workers, extra)
    listeners = (SlowWorkerLog(), *listeners, *automatic_listeners())
    options = {"listeners": listeners, "checkpoints": checkpoints, "marks": marks}
    options |= {"without_group": without_group, "phases": phases, "changes": changes}
    options |= evaluation_options(network, master, validation, evaluate, metrics)
    trainer = Trainer(conf, master, workers, **options)
    transform = getattr(data, "transform", None)
    schema = schema_of(conf, transform=transform, changes=changes)
    options = with_seed(master, state)
    phases.end("starting")
    blocks = workers.load(data, schema, master.records_per_block, options)
    phases.end("starting", blocks.seconds)
    with closing_data(blocks):
        if resume is not None:
            trainer.continuation.check(blocks, extra, resume)
        elif state.iteration and not state.rounds:
            state = trainer.continuation.locate(blocks, state)
        else:
            state = trainer.continuation.enter(blocks, state)
        train(network, trainer, blocks, state, epochs, transform, extra)
    phases.end("ending")
    history = trainer.history
    history.aggregation, history.data_were_kept = why, blocks.were_kept
    history.why_not_kept = blocks.why_not_kept
    return history


def check_followers(listeners, checkpoints):
    """Returns the listeners as a tuple; ConfigError if they or `checkpoints` have a wrong type."""
    sound = isinstance(listeners, Iterable) and not isinstance(listeners, str)
    found = tuple(listeners) if sound else (listeners,)
    if not sound or not all(isinstance(one, Listener) for one in found):
        raise ConfigError(
            f"listeners must be a sequence of Listener, got {brief(listeners)}; give a list of "
            "them, such as [EarlyStopping(patience=3)]"
        )
    if not isinstance(checkpoints, Checkpoints | None):
        raise ConfigError(
            f"checkpoints must be Checkpoints or None, got {brief(checkpoints)}; give a folder as "
            "Checkpoints(path=...)"
        )
    return found


def require_tests(validate_every, validate_first, metrics, *given):
    """Raises ConfigError if evaluations are requested but no data is given for them."""
    asked = {"validate_every": validate_every, "validate_first": validate_first or None}
    asked |= {"metrics": metrics or None}
    for name, value in asked.items():
        if value is not None and all(one is None for one in given):
            raise ConfigError(
                f"{name} must be left out where there is no validation data, got {brief(value)}; "
                "give validation= or validation_split="
            )


class UnfinishedFit(NamedTuple):
    """An interrupted or stopped fit, which `resume=True` continues.

    `extra` is what its checkpoints would hold besides the state.
    """

    epochs: int
    updates: int | None
    extra: dict


def check_counts(**given):
    """Raises ConfigError unless each of these options of a fit is None or an integer above 0."""
    for name, count in given.items():
        if count is not None and not is_integer(count, 1):
            raise ConfigError(f"{name} must be an integer >= 1 or None, got {brief(count)}")


def duration(network, epochs, updates, resume):
    """Returns (epochs, updates) of a fit, which may be those of the fit that it resumes.

    If only `updates` is given, it is also the number of epochs: each has at least one update.
    """
    if resume is True and network.unfinished is None:
        raise ConfigError(
            "resume must be a checkpoint's path where the network's last fit was complete, got "
            "True; leave it out to train further"
        )
    if epochs is None and updates is None:
        epochs, updates = network.unfinished[:2] if resume is True else (1, None)
    epochs = updates if epochs is None else epochs
    check_epochs(epochs)
    return epochs, updates


def start(network, master, resume):
    """Returns (state, what checkpoints hold besides it) at the beginning of a fit."""
    if resume is None:
        check_state(network.conf, network.state)
        return start_state(network.conf, master, network.state), {}
    if resume is True:
        return network.state, network.unfinished.extra
    return load_to_resume(network.conf, resume)


def train(network, trainer, blocks, state, epochs, transform, extra):
    """Trains; leaves the network the final state, also if the fit is interrupted."""
    try:
        trainer.fit(blocks, state, epochs, transform, extra)
    except DivergedError:
        network.history = trainer.history
        raise
    except BaseException:
        if trainer.history is not None:  # the fit had begun
            leave(network, trainer, epochs, is_whole=False)
        raise
    leave(network, trainer, epochs, is_whole=not trainer.steering.stopped)


def leave(network, trainer, epochs, is_whole):
    network.state, network.history = trainer.state, trainer.history
    unfinished = UnfinishedFit(epochs, trainer.marks.last, trainer.extra)
    network.unfinished = None if is_whole else unfinished


def evaluation_options(network, master, validation, evaluate, metrics=None):
    """Returns the options of a Trainer that say where, on what and by what to evaluate."""
    if validation is None:
        return {}
    conf = network.conf
    if evaluate is None and not isinstance(validation, Validation):
        source = as_source(validation)
        validation = validation_of(conf, source)
    if metrics is not None and isinstance(validation, Validation):
        evaluator = validation.evaluator.with_metrics(metrics.counts)
        validation = validation._replace(evaluator=evaluator)
    evaluate = evaluate or evaluate_on_driver(network, master.device)
    figures, on = None, {}
    if isinstance(validation, Validation):
        require_records(validation.batches)
        figures = ("loss", *(f"validation {name}" for name in validation.evaluator.figures()))

    def by_driver(state):
        return evaluate(state, validation)

    if master.resident and isinstance(validation, Validation):
        on = {"validation": validation}
    return on | {"evaluate": by_driver, "figures": figures, "metrics": metrics}


def require_records(batches):
    """Raises DataError if this process reads the validation data and none of them counts."""
    if not isinstance(batches, CheckedBatches):
        return
    if not any(map(len, batches)):
        raise nothing_to_evaluate("; give some, or a larger validation_split")
    require_weight(facts_of(batches.schema, [batch]) for batch in batches)


def validation_of(conf, source, changes=()):
    """Returns the Validation of a source that this process reads."""
    return Validation(CheckedBatches(conf, source, changes), Evaluator(conf, source.transform))


def evaluate_on_driver(network, device):
    """Returns a function (state, validation) -> Evaluation; its first call creates a network."""

    @cache
    def evaluator():
        return type(network)(network.conf, network.state, device)

    def evaluate(state, validation):
        return evaluator().evaluate_at(state, validation)

    return evaluate


def with_seed(master, state):
    """Returns the master with the seed of the run; its own may be None."""
    return replace(master, seed=state.seed)


def load_to_resume(conf, path):
    """Returns state and extra of the checkpoint at `path`; CheckpointError for another network."""
    conf_of_checkpoint, state, extra = load_checkpoint(path)
    if conf_of_checkpoint != conf:
        raise CheckpointError(f"{path} holds another network than the one to be trained")
    return state, extra
