"""Training described by a Caffe solver file, with any workers and any master."""

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from os import PathLike
from pathlib import PurePosixPath
from typing import Any

from sparkdl.config.calls import refuse_unknown_options
from sparkdl.data import files
from sparkdl.data.source import check_batches
from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.checkpoints.snapshots import load_snapshot
from sparkdl.interop.caffe.checkpoints.transfer import load_weights
from sparkdl.interop.caffe.datasets.sources import source_of
from sparkdl.interop.caffe.evaluation.head import FirstRecords
from sparkdl.interop.caffe.evaluation.net_evaluation import batch_size, testing_of
from sparkdl.interop.caffe.messages.file_paths import paths_of
from sparkdl.interop.caffe.solvers.job import SolverJob, read_job
from sparkdl.interop.caffe.solvers.listeners import Display, Snapshots, log
from sparkdl.training.fit.network_fit import fit_network
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.inputs.sources import Data, as_source
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.network import Network, first_state
from sparkdl.training.recipe import tag_batch
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.saving.checkpoint import Checkpoints
from sparkdl.training.workers.base import Validation, Workers
from sparkdl.training.workers.local import LocalWorkers


class CaffeSolver:
    """A Recipe: trains a net as its solver file describes, with tests and snapshots.

    The net's batch size is that of each worker, as in CaffeOnSpark. Tests use the first `test_iter`
    batches of the test nets' data; each record counts once.

    Parameters
    ----------
    solver : path of a solver file, local or a URI, or SolverJob
    master : TrainingMaster, optional
        None: AllReduceSGD(), which computes what Caffe does on the workers' batches together. Its
        batch size, what iter_size means for it, and the device where it is "auto", are those of
        the solver.
    snapshot : str, optional
        A .solverstate to go on from; `weights` may name its .caffemodel.
    weights : str or sequence of str, optional
        Files of weights to start from, by the layers' names; a text may name several with commas
        between, or be a file's name with commas. Later ones win. None: the solver's.
    shapes : {blob: shape of one example}, optional
        See `read_net`.

    Attributes
    ----------
    network : Network
    loaded : tuple of LoadReport
        Reports on the files of weights.

    Raises
    ------
    ConfigError, ShapeError, UnsupportedError, DataError, CheckpointError
        As `read_job`, `load_snapshot` and `load_weights`; and for a solver that trains nothing.
    """

    def __init__(self, solver, master=None, *, snapshot=None, weights=None, shapes=None):
        self.job = solver if isinstance(solver, SolverJob) else read_job(solver, shapes)
        conf = self.job.solver
        if conf.max_iter < 1:
            raise ConfigError(f"max_iter must be at least 1 to train, got {conf.max_iter}")
        self.master = master_of(self.job, master)
        tell_of_no_effect(conf)
        state, self.loaded = start_of(self.job, snapshot, names_of(weights))
        self.network = Network(self.job.train.conf, state)
        self.snapshots = Snapshots(self.job.train, conf, prefix_of(self.job))

    @refuse_unknown_options
    def fit(
        self,
        data: Data | None = None,
        workers: Workers | None = None,
        validation: Data | list[Data] | None = None,
        *,
        epochs: int | None = None,
        updates: int | None = None,
        validate_every: int | None = None,
        validate_first: bool | None = None,
        listeners: Iterable[Listener] = (),
        checkpoints: Checkpoints | None = None,
        resume: str | PathLike[str] | None = None,
    ) -> History:
        """Trains on this machine; returns a History, whose `validations` are the tests.

        Parameters
        ----------
        data : Batch, pair (features, labels) or source, optional
            None: what the net's layer of data names.
        workers : Workers, optional
            None: two processes.
        validation : the same, or a list of them for several test nets, optional
            Data to test on, all of it. None: what the test nets name.
        epochs, updates : int, optional
            How long to train, in place of max_iter.
        validate_every, validate_first : optional
            In place of test_interval and test_initialization.
        listeners, checkpoints, resume : optional
            As in `Network.fit`.
        """
        data = as_source(self.data() if data is None else data)
        tests = self.tests(validation, as_source)
        batches = TaggedBatches(self.test_confs, tests)
        own_workers = LocalWorkers(self.master.workers or 2) if workers is None else None
        try:
            used = own_workers if workers is None else workers
            return self.train(
                data,
                used,
                self.validation(tests, batches),
                epochs=epochs,
                updates=updates,
                validate_every=validate_every,
                validate_first=validate_first,
                listeners=listeners,
                checkpoints=checkpoints,
                resume=resume,
            )
        finally:
            if own_workers is not None:
                own_workers.close()

    @property
    def test_confs(self):
        """The configuration of each test net."""
        return [net.conf for net in self.job.tests]

    def data(self):
        """Returns the source of the data to train on that the net names."""
        return source_of_net(self.job.train)

    def test_data(self):
        """Returns the sources that the test nets name: all records, with what is done to them.

        For `evaluate`, `predict` and `features`, which know nothing of a net's transform_param.
        """
        return [source_of_net(net) for net in self.job.tests]

    def tests(self, given, readable):
        """Returns the data of each test net, or none where nothing is tested.

        Parameters
        ----------
        given : data, or a list of it for several nets; None: what the nets name
        readable : function data -> what these workers read; has a `transform`
        """
        nets, solver = self.job.tests, self.job.solver
        if given is None:
            pairs = zip(nets, solver.test_iter, strict=True) if solver.test_interval else ()
            return [readable(first_of_net(net, count)) for net, count in pairs]
        tests = given if isinstance(given, list) else [given]
        if len(tests) != len(nets):
            raise ConfigError(f"validation must be data for {len(nets)} nets, got {len(tests)}")
        return [readable(one) for one in tests]

    def validation(self, tests, batches):
        """Returns the Validation on these sources; `batches` are their tagged records."""
        if not tests:
            return None
        testing = testing_of(self.job.train, self.job.tests, tests)
        return Validation(batches, testing)

    def train(
        self,
        data: Any,
        workers: Workers,
        validation: Validation | None,
        evaluate: Callable[..., Any] | None = None,
        *,
        epochs: int | None = None,
        updates: int | None = None,
        validate_every: int | None = None,
        validate_first: bool | None = None,
        listeners: Iterable[Listener] = (),
        checkpoints: Checkpoints | None = None,
        resume: str | PathLike[str] | None = None,
    ) -> History:
        """Returns `fit` with data and validation as these workers know them."""
        solver = self.job.solver
        if epochs is None and updates is None:
            updates = solver.max_iter
        if solver.test_interval:
            validate_every = validate_every or solver.test_interval
            if validate_first is None:
                validate_first = solver.test_initialization
        history = fit_network(
            self.network,
            data,
            self.master,
            workers,
            epochs,
            updates=updates,
            validation=validation,
            validate_every=validate_every,
            validate_first=bool(validate_first),
            evaluate=evaluate,
            listeners=[Display(solver), self.snapshots, *listeners],
            checkpoints=checkpoints,
            resume=resume,
        )
        self.snapshots.finish(self.network.state)
        return history


class TaggedBatches:
    """The checked Batches of all tests; can be iterated several times."""

    def __init__(self, confs, tests):
        self.confs, self.tests = confs, tests

    def __iter__(self):
        for number, source in enumerate(self.tests):
            schema = schema_of(self.confs[number], transform=source.transform)
            for split in source.splits():
                for batch in check_batches(source.read, split, schema):
                    yield tag_batch(batch, number)


def source_of_net(net):
    """Returns the source of a net's only data layer."""
    return source_of(data_of(net, "; give the data to fit"))


def data_of(net, cure=""):
    """Returns the data layer of a net; raises ConfigError unless there is exactly one."""
    if len(net.data) != 1:
        names = ", ".join(data.name for data in net.data) or "none"
        raise ConfigError(f"{net.name or 'the net'} must have one layer of data, got {names}{cure}")
    return net.data[0]


def first_of_net(net, batches):
    """Returns a source of the first batches of a test net's data; splits have whole batches."""
    source, size = source_of_net(net), batch_size(net)
    if "records_per_split" in {item.name for item in fields(source)}:
        source = replace(source, records_per_split=-(-256 // size) * size)
    return FirstRecords(source, batches * size, size)


def tell_of_no_effect(conf):
    """Logs the solver's fields that have no effect here, if any."""
    if conf.without_effect:
        log.warning("the solver's %s: no effect here", ", ".join(conf.without_effect))


def names_of(weights):
    """Returns the paths of weight files; as in Caffe, a text is split at commas.

    A text that is the name of an existing file is not split.
    """
    if not isinstance(weights, str):
        return weights
    paths = paths_of(weights)
    if not paths:
        raise ConfigError(f"weights must name a file, got {weights!r}; leave it out for none")
    return (weights,) if len(paths) > 1 and files.exists(weights) else paths


def master_of(job, master):
    """Returns the master with the net's batch size and the solver's iter_size."""
    master = AllReduceSGD() if master is None else master
    times, size = job.solver.iter_size, batch_size(job.train)
    changes = {"batch_size_per_worker": size} if any(d.batch_size for d in job.train.data) else {}
    if master.device == "auto":
        changes["device"] = job.solver.device
    if times == 1:
        return replace(master, **changes)
    options = {item.name for item in fields(master)}
    for name, others in {"accumulate": (), "push_every": ("fetch_every",)}.items():
        if name in options:
            return replace(master, **changes | dict.fromkeys((name, *others), times))
    raise ConfigError(
        f"iter_size must be 1 with {type(master).__name__}, got {times}; AllReduceSGD and "
        "ParameterServer add up gradients"
    )


def start_of(job, snapshot, weights):
    """Returns (the TrainState to start from, (LoadReport, ...))."""
    net, conf, reports = job.train, job.train.conf, []
    state = first_state(conf)
    if snapshot is not None:
        if weights is not None and len(weights) != 1:
            raise ConfigError(f"a snapshot has one file of weights, got {list(weights)}")
        return load_snapshot(conf, state, snapshot, net.layers, *(weights or ())), ()
    for path in job.solver.weights if weights is None else weights:
        state, report = load_weights(conf, state, path, net.layers)
        reports.append(report)
        log.info("%s", report)
    return state, tuple(reports)


def prefix_of(job):
    """Returns the prefix of snapshots: the solver's, or from its file name, as in Caffe."""
    prefix, path = job.solver.snapshot_prefix, PurePosixPath(str(job.path))
    if not prefix:
        return str(job.path).removesuffix(path.suffix)
    is_folder = prefix.endswith("/") or files.is_directory(prefix)
    return f"{prefix.rstrip('/')}/{path.stem}" if is_folder else prefix
