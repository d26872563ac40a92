"""-train: a solver's training, with interleaved tests if it asks for them."""

import logging
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from sparkdl.commands.caffe.cluster import master_of, replicas
from sparkdl.commands.caffe.options import Options
from sparkdl.commands.caffe.records import batch_size, source_for
from sparkdl.data import files
from sparkdl.errors import ConfigError
from sparkdl.interop.caffe import CaffeSolver, SolverJob, read_job, save_weights
from sparkdl.interop.caffe.evaluation.head import FirstRecords
from sparkdl.interop.caffe.solvers.caffe_solver import prefix_of
from sparkdl.spark import SparkNetwork
from sparkdl.spark.jobs.slots import check_launch
from sparkdl.spark.records.data_frames import uri

LOG = "sparkdl.caffe"


@dataclass(frozen=True)
class Training:
    """A training run of the command, created by `prepare_training`.

    Parameters
    ----------
    options : Options
    job : SolverJob
        Its snapshots go to the model's folder.
    data : Source
    tests : list of Source, or None for the nets' own
    """

    options: Options
    job: SolverJob
    data: Any
    tests: list | None

    def run(self, spark, tell):
        """Trains and saves; returns the trained Network."""
        options, sc = self.options, spark.sparkContext
        if options.connection != "none":
            check_launch(sc)
        workers = replicas(sc, options.cluster_size, options.devices, tell)
        master = master_of(options, workers, batch_size(self.job.train))
        given = {"snapshot": options.snapshot, "weights": options.weights}
        with lines_shown():
            net = SparkNetwork(sc, CaffeSolver(self.job, master, **given))
            history = net.fit(self.data, validation=self.tests)
        about = self.job.train
        save_weights(net.conf, net.network.state, options.model, about.layers, about.name)
        print(f"the model is in {options.model}", flush=True)
        if options.validations:
            self._write(net.validations(history))
        return net.network

    def _write(self, frame):
        """Writes the results of the tests as one file."""
        options = self.options
        frame.coalesce(1).write.format(options.output_format).save(uri(options.validations))
        print(f"the test results are in {options.validations}", flush=True)


def prepare_training(options):
    """Returns the Training, after checking all files."""
    job = beside_the_model(read_job(options.conf, options.shapes), options.model)
    if options.validations:
        files.check_free(options.validations, ConfigError)
        if not job.solver.test_interval:
            raise ConfigError("-output is for tests, but the solver has no test_interval")
    data = source_for(job.train, options.resize, options.lmdb_partitions)
    data.splits()
    return Training(options, job, data, resize_tests(job) if options.resize else None)


def beside_the_model(job, model):
    """Returns the job with its snapshots in the model's folder, as in CaffeOnSpark."""
    folder, slash, _ = model.rpartition("/")
    prefix = f"{folder}{slash}{prefix_of(job).rpartition('/')[2]}"
    return replace(job, solver=replace(job.solver, snapshot_prefix=prefix))


def resize_tests(job):
    """Returns the sources for tests during training with resized images, or None without tests."""
    if not job.solver.test_interval:
        return None
    pairs = zip(job.tests, job.solver.test_iter, strict=True)
    return [
        FirstRecords(source_for(net, resize=True), batches * batch_size(net), batch_size(net))
        for net, batches in pairs
    ]


@contextmanager
def lines_shown():
    """Writes the solver's log lines to standard output, as Caffe does."""
    log, handler = logging.getLogger(LOG), logging.StreamHandler(sys.stdout)
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
