"""Execution of trials: each as one task of an executor, or as a fit on all slots."""

from dataclasses import replace
from functools import partial

from sparkdl.data.records.label_facts import warning_once
from sparkdl.errors import ConfigError, DataError, NoSlots, SparkdlError
from sparkdl.spark.jobs.command_size import check_command
from sparkdl.spark.jobs.job import job
from sparkdl.spark.jobs.shared_value import sharing
from sparkdl.spark.jobs.slots import check_idle_processes, option, slots
from sparkdl.spark.launch.team import WorkerRank
from sparkdl.spark.network import SparkNetwork
from sparkdl.training.network import Network
from sparkdl.training.workers.contribution import unwrap
from sparkdl.tune.progress import Progress
from sparkdl.tune.shared_data import read_records
from sparkdl.tune.side_by_side import run_side_by_side
from sparkdl.tune.trial_listener import PRUNED, TrialListener
from sparkdl.tune.trial_task import TrialResult, as_task, run_trial

MET_BY_ALL = ConfigError, DataError, NoSlots  # errors that other trials would meet as well


class LocalExecution:
    """Runs each trial as a job of one task, which Spark retries if an executor is lost.

    Parameters
    ----------
    sc : SparkContext
    run : StudyRun
    models : Models
    shared : SharedValue of a TrialSetup
    progress : Progress
    device : str
        Of a TrainingMaster.
    """

    def __init__(self, sc, run, models, shared, progress, device):
        self._sc, self._run, self._models = sc, run, models
        self._shared, self._progress, self._device = shared, progress, device

    def __call__(self, number, candidate):
        rank = WorkerRank(number, number + 1)
        try:
            with job(self._sc, f"trial {number}", f"trial {number}", takes_turns=True):
                found = self._compute(candidate, rank)
            finish(self._run, self._models, number, candidate, unwrap(*found))
        except MET_BY_ALL:
            raise
        except SparkdlError as error:
            self._run.fail(number, error)
        finally:
            self._progress.forget(number)

    def _compute(self, candidate, rank):
        """Returns [the result of `run_trial`]; the candidate is sent apart from the secret."""
        with sharing(self._sc, candidate) as tried:
            trial = partial(run_trial, self._progress.secret, self._shared, tried)
            task = partial(as_task, self._device, trial, rank)
            results = self._sc.parallelize([rank.rank], 1).mapPartitions(task)
            check_command(self._sc, results)
            return results.collect()


class DistributedExecution:
    """Runs each trial as a SparkNetwork.fit on all slots of its master.

    Parameters
    ----------
    sc : SparkContext
    run : StudyRun
    models : Models
    setup : TrialSetup
        Without data.
    master : TrainingMaster
    fit : function (SparkNetwork, epochs, listeners) -> History
    """

    def __init__(self, sc, run, models, setup, master, fit):
        self._sc, self._run, self._models = sc, run, models
        self._setup, self._master, self._fit = setup, master, fit

    def __call__(self, number, candidate):
        master = replace(self._master, batch_size_per_worker=candidate.batch_size)
        net = SparkNetwork(self._sc, candidate.conf, master)
        listener = TrialListener(self._setup, partial(self._judge, number))
        try:
            history = self._fit(net, candidate.epochs, listener.listeners)
        except MET_BY_ALL:
            raise
        except SparkdlError as error:
            self._run.fail(number, error)
            return
        pruned, seconds = history.end_reason == PRUNED, sum(history.phases.values())
        result = TrialResult(
            listener.final_value, pruned, net.network.state, seconds, "the cluster"
        )
        finish(self._run, self._models, number, candidate, result)

    def _judge(self, number, step, value, state):
        return self._run.judge(number, step, value)


def run_locally(sc, run, first, given, setup, models, parallelism):
    """Runs trials concurrently, on data that is sent to each executor once.

    Parameters
    ----------
    first : (number, Candidate)
    given : SearchData
    setup : TrialSetup
        Without data and address.
    parallelism : int or None
        Concurrent trials; None: one per slot.

    Raises
    ------
    ConfigError
        If Spark would end the trials' processes as idle.
    """
    check_idle_processes(sc)
    conf = first[1].conf
    run.require_data_of(conf, given.records().transform)
    held = {"data": read_records(sc, given.records(), conf, "train on")}
    if given.validation is not None:
        records = given.validation_records()
        held["validation"] = read_records(sc, records, conf, "evaluate on")
    host = option(sc, "spark.driver.host")
    with Progress(run.judge, host, setup.timeout) as progress:
        with sharing(sc, replace(setup, **held, address=progress.address)) as shared:
            execute = LocalExecution(sc, run, models, shared, progress, setup.device)
            run_side_by_side(sc, run, first, execute, parallelism or slots(sc))


def run_distributed(sc, run, first, given, setup, models, master):
    """Runs trials one after the other, each on all slots of its master."""
    execute, trial = DistributedExecution(sc, run, models, setup, master, given.fit), first
    with warning_once():
        while trial is not None:
            execute(*trial)
            trial = run.next()


def finish(run, models, number, candidate, result):
    """Saves the network of a trial before telling the study, so that complete trials have one."""
    if not result.pruned:
        models.put(number, Network(candidate.conf, result.state))
    run.end(number, result)
