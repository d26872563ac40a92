"""A fit inside a barrier stage, and its result as rows."""

import logging
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow
from pyspark import BarrierTaskContext, cloudpickle

from sparkdl.errors import WorkerError
from sparkdl.spark.connect.dealt_frame import items_of
from sparkdl.spark.connect.driver_error import driver_error_to_json
from sparkdl.spark.connect.sessions import unsupported
from sparkdl.spark.connect.stage_workers import LaunchedOnce, StageWorkers, follow
from sparkdl.spark.jobs.error_notes import note_errors
from sparkdl.training.fit.network_fit import UnfinishedFit, fit_network, load_to_resume
from sparkdl.training.network import Network
from sparkdl.training.reporting.steering import Steering
from sparkdl.training.saving.checkpoint import list_checkpoints
from sparkdl.training.workers.frozen_modules import freeze_modules

log = logging.getLogger(__name__)
RESULTS = "place int, piece binary"
ARROW = pyarrow.schema([("place", pyarrow.int32()), ("piece", pyarrow.binary())])
PIECE = 16 << 20  # bytes; Spark Connect limits the size of messages


class DealtBlocks(NamedTuple):
    """The blocks that records have been dealt into; see Blocks."""

    sizes: list[int]
    seconds: dict[str, float]
    were_kept: bool = False
    why_not_kept: str | None = None

    def close(self, keep: bool = False) -> None:
        """Does nothing: the client frees the data."""


class DealtData(NamedTuple):
    """Data loaded by the stage's workers."""

    blocks: DealtBlocks
    transform: Any


class StageFit(NamedTuple):
    """A fit in the form sent to the stage.

    Parameters
    ----------
    conf, state, unfinished
        Of the Network, or of the fit being resumed; `unfinished` is None if none is.
    data : DealtData
    master : TrainingMaster
    epochs : int or None
    options : dict
        Of `fit_network`.
    restarts : int
        Remaining restarts of the stage, out of the master's max_restarts.
    """

    conf: Any
    state: Any
    unfinished: Any
    data: DealtData
    master: Any
    epochs: int | None
    options: dict[str, Any]
    restarts: int = 0


class FitResult(NamedTuple):
    """Results of a fit: fields of the Network, attributes of listeners, and the error as JSON or
    None.
    """

    state: Any
    history: Any
    unfinished: Any
    listeners: list[dict[str, Any]]
    error: Any


def run_stage(fit, tables):
    """Runs a task of the stage; the first one yields the result of the fit."""
    freeze_modules()
    with note_errors():
        context, items = BarrierTaskContext.get(), items_of(tables)
        if context.partitionId():
            follow(context, items, fit.master.task_device)
            return
        data = cloudpickle.dumps(drive(fit, context, items))
        for place, start in enumerate(range(0, len(data), PIECE)):
            row = {"place": place, "piece": data[start : start + PIECE]}
            yield pyarrow.RecordBatch.from_pylist([row], schema=ARROW)


def drive(fit, context, items):
    """Runs the driver's part of the fit; returns the FitResult.

    Raises WorkerError if a worker was lost and the stage may start over.
    """
    fit = fit if fit.restarts == fit.master.max_restarts else from_last_checkpoint(fit)
    network = Network(fit.conf, fit.state)
    network.unfinished = fit.unfinished
    workers = StageWorkers(context, items, fit.master.task_device)
    master, error, lost = replace(fit.master, max_restarts=fit.restarts), None, None
    try:
        options = fit.options | {"evaluate": refuse_to_evaluate}
        fit_network(network, fit.data, master, workers, fit.epochs, **options)
    except LaunchedOnce:
        lost = WorkerError(network.history.restarts[-1].reason)
    except GeneratorExit:
        raise
    except BaseException as failure:  # includes a listener's KeyboardInterrupt or SystemExit
        error = driver_error_to_json(failure)
    finally:
        workers.close()
    if workers.incomplete is not None or lost is not None:
        raise workers.incomplete or lost
    if network.history is not None:
        network.history.master = fit.master.shown_options()
    listeners = [attributes_of(listener) for listener in fit.options["listeners"]]
    return FitResult(network.state, network.history, network.unfinished, listeners, error)


def from_last_checkpoint(fit):
    """Returns a StageFit that resumes from its last checkpoint, if it has one.

    Checkpoints of other fits are never ahead of where a fit starts.
    """
    path = fit.options["checkpoints"] and fit.options["checkpoints"].path
    if path is None or max(list_checkpoints(path), default=0) <= fit.state.rounds:
        return fit
    state, extra = load_to_resume(fit.conf, path)
    log.warning("the fit goes on after round %d of %s", state.rounds, path)
    unfinished = UnfinishedFit(fit.epochs, fit.options["updates"], extra)
    options = fit.options | {"resume": True}
    return fit._replace(state=state, unfinished=unfinished, options=options)


def attributes_of(listener):
    """Returns a listener's attributes without the fit's error, which the client may fail to
    unpickle.
    """
    found = dict(vars(listener))
    if isinstance(found.get("steering"), Steering):
        found["steering"] = copy(found["steering"])
        found["steering"].error = found["steering"].restoring = None  # a listener has it, too
    return found


def refuse_to_evaluate(state, validation):
    raise unsupported("an evaluation by the driver", "give the fit a master whose workers stay")


def result_of(rows):
    """Returns the FitResult from the rows of the stage."""
    pieces = [bytes(row["piece"]) for row in sorted(rows, key=lambda row: row["place"])]
    return cloudpickle.loads(b"".join(pieces))
