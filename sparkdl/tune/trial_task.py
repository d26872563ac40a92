"""A trial as a task of an executor: a fit in its own process, judged after each epoch."""

import platform
import time
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from sparkdl.data.records.label_facts import without_warnings
from sparkdl.errors import WorkerError
from sparkdl.spark.gpu_process.dispatch import run_on_device
from sparkdl.spark.jobs.error_notes import note_errors
from sparkdl.training.evaluation.batch_evaluation import Evaluator
from sparkdl.training.fit.network_fit import fit_network
from sparkdl.training.inputs.division import divide
from sparkdl.training.inputs.sources import CheckedBatches
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.rounds.replica import closing_training, limit_threads, replica_for
from sparkdl.training.workers.base import Validation
from sparkdl.training.workers.contribution import Failure
from sparkdl.training.workers.this_process import ThisProcess
from sparkdl.tune.reporter import Reporter
from sparkdl.tune.trial_listener import TrialListener

WHOLE_EPOCH = 2**31  # minibatches of a round: there are no others to average with


class TrialResult(NamedTuple):
    """Result of a trial.

    Parameters
    ----------
    value : float
        The monitored figure of its weights.
    pruned : bool
        Whether it was ended early.
    state : TrainState
    seconds : float
        Compute time, without that of a lost executor.
    host : str
        Where it ended.
    """

    value: float
    pruned: bool
    state: Any
    seconds: float
    host: str


class HeldRecords:
    """Records in memory as a source of one split."""

    def __init__(self, batch, transform):
        self.batch, self.transform = batch, transform

    def splits(self):
        return ["the data of the trials"]

    def read(self, split):
        yield self.batch


def as_task(device, compute, rank, items):
    """Runs a trial on an executor, in another process if it uses a GPU."""
    with note_errors():
        taken = iter(list(items))  # Spark ends a process that leaves items unread
        return list(run_on_device(device, compute, taken, rank))


def run_trial(secret, shared, candidate, rank, items):
    """Yields the TrialResult, or a Failure, which Spark does not retry.

    Parameters
    ----------
    secret : bytes
        Of the connection to the driver, sent apart, as data shared by trials may travel in files.
    shared : SharedValue of a TrialSetup
    candidate : SharedValue of a Candidate
    rank : WorkerRank
        Its rank is the number of the trial.
    items : iterator of nothing
    """
    setup = replace(shared.value, secret=secret)
    with Reporter(setup, rank.rank) as reporter:
        try:
            result = train(setup, candidate.value, reporter)
        except WorkerError:  # of the connection: another task may resume
            raise
        except Exception as error:
            result = Failure(error, f"trial {rank.rank}")
    yield result


def train(setup, candidate, reporter):
    """Returns the TrialResult of a fit in this process."""
    start = time.perf_counter()
    limit_threads()
    network = Network(candidate.conf, reporter.state)
    listener = TrialListener(setup, reporter.report)
    listener.value = reporter.value
    epochs = candidate.epochs - network.state.epoch
    if epochs and not reporter.pruned:
        fit(setup, candidate, network, epochs, listener.listeners)
    seconds = time.perf_counter() - start
    value, pruned = listener.final_value, reporter.pruned
    return TrialResult(value, pruned, network.state, seconds, platform.node())


def fit(setup, candidate, network, epochs, listeners):
    """Trains the network of a trial."""
    conf = candidate.conf
    master = ParameterAveraging(
        aggregation="driver",
        workers=1,
        averaging_frequency=WHOLE_EPOCH,
        batch_size_per_worker=candidate.batch_size,
        device=setup.device,
    )
    options = setup.validation, setup.validation_split, setup.class_weight
    division = divide(conf, master, *options)
    source, on = HeldRecords(setup.data, setup.transform), {}
    if setup.validation is not None:
        on = evaluation(conf, setup, HeldRecords(setup.validation, setup.validation_transform))
    elif division.held_out is not None:
        on = evaluation(conf, setup, source, division.held_out)
    changes = {"listeners": listeners, "changes": division.training}
    with without_warnings():
        fit_network(network, source, master, ThisProcess(), epochs, **changes, **on)


def evaluation(conf, setup, source, changes=()):
    """Returns the options of fit_network for an evaluation after each epoch."""
    batches = list(CheckedBatches(conf, source, changes))
    validation = Validation(batches, Evaluator(conf, source.transform))
    return {"validation": validation, "evaluate": partial(evaluate, conf, setup.device)}


def evaluate(conf, device, state, validation):
    """Returns the Evaluation of a state, with the replica that also trains."""
    replica = replica_for(conf, device)
    with closing_training(replica):
        replica.load(state.params, state.buffers, state.slots)
        return validation.evaluator.evaluate(replica, validation.batches)
