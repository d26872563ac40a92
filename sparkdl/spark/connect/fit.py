"""The client's side of a fit over Spark Connect: data to workers, results to the network."""

import logging
import time
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from sparkdl.data.batches.dealing import deal
from sparkdl.errors import DivergedError, WorkerError
from sparkdl.spark.connect.dealt_frame import deal_frame
from sparkdl.spark.connect.driver_error import driver_error_from_json
from sparkdl.spark.connect.packed_frame import PackedFrame
from sparkdl.spark.connect.sessions import interrupted_with_us, unsupported
from sparkdl.spark.connect.slots import workers_of
from sparkdl.spark.connect.stage_fit import (
    RESULTS,
    DealtBlocks,
    DealtData,
    StageFit,
    result_of,
    run_stage,
)
from sparkdl.spark.jobs.job import clear_errors, message
from sparkdl.spark.jobs.stage_failure import LOST, failure
from sparkdl.spark.jobs.user_code import check_pickles
from sparkdl.spark.launch.team import Team
from sparkdl.training.fit.network_fit import (
    UnfinishedFit,
    check_counts,
    duration,
    start,
    with_seed,
)
from sparkdl.training.fit.trainer import Trainer
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.reporting.automatic_listeners import automatic_listeners
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.listeners import Listeners
from sparkdl.training.reporting.monitor import Monitor
from sparkdl.training.reporting.replay import replay, tell_around
from sparkdl.training.reporting.reports import FitPlan
from sparkdl.training.reporting.termination import TerminateOnMaxLoss, TerminateOnTime
from sparkdl.training.resident.schedule import schedule_of
from sparkdl.training.resident.worker_group import LostWorker
from sparkdl.training.rounds.milestones import Milestones
from sparkdl.training.workers.base import Validation

log = logging.getLogger(__name__)
STEERING = Monitor, TerminateOnMaxLoss, TerminateOnTime
DEALT = "with the blocks"  # location of the validation batches


def fit(spark, network, master, source, epochs, validation, changes, options):
    """Trains a Network in place; returns the History.

    Parameters
    ----------
    spark : SparkSession of Spark Connect
    network : Network
    master : TrainingMaster
    source : SparkRecords
    epochs : int or None
    validation : (SparkRecords, Schema, Evaluator) or None
    changes : tuple of callable
        Applied to the training records; see Schema.
    options : dict
        The remaining options of fit_network.
    """
    listeners = list(options["listeners"])
    check_listeners(listeners)
    tests = validation and validation[1:]  # without the DataFrame, which stays with the client
    check_pickles(network.conf, master, listeners, source.transform, changes, tests)
    epochs, options = lasting(network, epochs, options)
    master, why = staying(master)
    resume = options["resume"]
    state, extra = start(network, master, resume)
    kept = None if resume is None else extra.get("workers")  # see Workers.keep_size
    size = workers_of(spark, kept if master.workers is None else master.workers)
    unfinished = goes_on_from(network, extra, epochs, options)
    options |= {"listeners": listeners, "changes": changes, "resume": resume is not None}
    trainer = trainer_of(network.conf, replace(master, workers=size), options)
    schema = schema_of(network.conf, transform=source.transform, changes=changes)
    with ExitStack() as frames:
        train = frames.enter_context(closing(PackedFrame(source, schema)))
        test = None
        if validation is not None:
            test = frames.enter_context(closing(PackedFrame(*validation[:2])))
            options |= {"validation": Validation(DEALT, validation[2])}
        dealing, blocks = deal_records(train, with_seed(master, state), size)
        if test is not None:
            test.check_evaluation()
        if resume is not None:
            trainer.continuation.check(blocks, extra, resume)
        shares = shares_of(state, extra, blocks, size)
        data = DealtData(blocks, source.transform)
        given = network.conf, state, unfinished
        stage = StageFit(*given, data, replace(master, workers=size), epochs, options)
        dealt = deal_frame(spark, dealing, train, test, Team.of(shares, 1))
        late = Listeners(*automatic_listeners())
        plan = plan_of(stage, size)
        with tell_around(late, plan):
            result = run(spark, dealt, stage)
            if result.history is not None:
                replay(result.history, result.state, plan, late)
            return keep(network, result, listeners, why)


def lasting(network, epochs, options):
    """Returns the checked (epochs, options) of a fit, as a classic one would resolve them."""
    resume = None if options["resume"] is False else options["resume"]
    check_counts(updates=options["updates"], validate_every=options["validate_every"])
    epochs, updates = duration(network, epochs, options["updates"], resume)
    return epochs, options | {"updates": updates, "resume": resume}


def goes_on_from(network, extra, epochs, options):
    """Returns the UnfinishedFit that a fit resumes, or None."""
    if options["resume"] is None:
        return None
    if options["resume"] is True:
        return network.unfinished
    return UnfinishedFit(epochs, options["updates"], extra)


def trainer_of(conf, master, options):
    """Returns a Trainer like the stage's, for checks beforehand."""
    marks = Milestones(
        last=options["updates"],
        validate=options["validate_every"],
        first=options["validate_first"],
    )
    given = {name: options[name] for name in ("listeners", "changes")}
    return Trainer(conf, master, SimpleNamespace(size=master.workers), marks=marks, **given)


def plan_of(stage, workers):
    """Returns the FitPlan of a fit in a stage, for listeners of the client."""
    state, goes_on = stage.state, stage.unfinished is not None
    first = stage.unfinished.extra["first_epoch"] if goes_on else state.epoch
    size = SimpleNamespace(size=workers)
    return FitPlan(
        conf=stage.conf,
        epochs=first + stage.epochs,
        rounds_in_epoch=stage.master.rounds_in_epoch(size, stage.data.blocks),
        workers=workers,
        epoch=state.epoch,
        round=state.round,
        rounds=state.rounds,
        iteration=state.iteration,
        updates=stage.options["updates"],
        history=History(master=stage.master.shown_options()),
        master=stage.master,
    )


def check_listeners(listeners):
    """Raises UnsupportedError for a listener that must run on the driver."""
    for listener in listeners:
        if not isinstance(listener, STEERING):
            raise unsupported(
                f"{type(listener).__name__}, a listener,",
                "the fit is driven from an executor; EarlyStopping, ReduceLROnPlateau, "
                "TerminateOnMaxLoss, TerminateOnTarget and TerminateOnTime run there, and the "
                "History is returned at the end",
            )


def staying(master):
    """Returns (a master with resident workers, the reason for its choice or None)."""
    why = None
    if getattr(master, "aggregation", None) == "auto":
        master = replace(master, aggregation="peers")
        why = "averaged by peers: over Spark Connect workers stay for the whole fit"
    if not master.resident:
        given = f"{type(master).__name__}(aggregation='driver')"
        raise unsupported(given, "its rounds are jobs of a SparkContext; give aggregation='peers'")
    if getattr(master, "table_folder", None) is not None:
        given = f"AllReduceSGD(table_folder={master.table_folder!r})"
        cure = "the files are lost with the executor that drives the fit; leave it out"
        raise unsupported(given, cure)
    return master, why


def deal_records(packed, options, size):
    """Returns the Dealing of packed records, and their DealtBlocks."""
    began = time.perf_counter()
    counts, nbytes = packed.measure()
    block = options.records_per_block
    dealing = deal(counts, nbytes, block, size, options.repartition, options.seed)
    return dealing, DealtBlocks(list(dealing.sizes), {"reading": time.perf_counter() - began})


def shares_of(state, extra, blocks, size):
    """Returns the numbers of each worker's blocks, as in the fit inside the stage."""
    workers = SimpleNamespace(size=size)
    return schedule_of(blocks, workers, state, extra).shares


def run(spark, dealt, stage):
    """Returns the FitResult of a barrier stage over the dealt records.

    If a worker is lost the stage starts over, up to the master's max_restarts times. Restarts are
    counted here, as Spark does not limit them for the last stage of a job.

    Raises
    ------
    WorkerError
        If workers were lost more often than that; it gives the last reason.
    """
    left = most = stage.master.max_restarts
    while True:
        try:
            return run_once(spark, dealt, stage._replace(restarts=left))
        except LostWorker as lost:
            if not left:
                again = f" ({most} restarts did not help)" if most else ""
                raise WorkerError(f"{lost}{again}") from lost.error
            left -= 1
            log.warning("%s; restarting the fit", lost)


def run_once(spark, dealt, stage):
    """Returns the FitResult of a barrier stage; raises LostWorker if it may start over."""
    results = dealt.mapInArrow(partial(run_stage, stage), RESULTS, barrier=True)
    doing = "workers that train together"
    with interrupted_with_us(spark), clear_errors(doing):
        try:
            return result_of(results.collect())
        except (Py4JError, PySparkException) as error:
            if not LOST.search(message(error)):
                raise
            reason = failure(message(error))
            raise LostWorker(reason) if isinstance(reason, WorkerError) else reason from error


def keep(network, result, listeners, why):
    """Transfers the results of the fit on the executor to network and listeners; returns its
    History.

    A failed fit leaves the same as a classic one: nothing if it had not begun, and only the History
    if it diverged.
    """
    error = None if result.error is None else driver_error_from_json(result.error)
    if result.history is not None:
        network.history = result.history
        if not isinstance(error, DivergedError):
            network.state, network.unfinished = result.state, result.unfinished
    for listener, attributes in zip(listeners, result.listeners, strict=True):
        vars(listener).update(attributes)
    if error is not None:
        raise error
    network.history.aggregation = why
    return network.history
