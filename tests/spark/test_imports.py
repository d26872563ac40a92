"""An executor imports only what its tasks need, not what the driver or other tasks need."""

import base64
import json
import subprocess
import sys
from functools import partial
from subprocess import PIPE

import pytest
from pyspark import cloudpickle
from pyspark.ml.linalg import VectorUDT
from pyspark.sql.types import StructType

from sparkdl.data import Csv
from sparkdl.data.batches.dealing import Dealing
from sparkdl.data.stored_share import StoredShare
from sparkdl.nn import Adam, Conv2D, Dense, MaxPool2D, NetworkConf, Output
from sparkdl.spark.inference.output_columns import OutputColumns, compute_outputs
from sparkdl.spark.inference.predictions import evaluate_partition, predict_batches
from sparkdl.spark.inference.sent_types import hide_classes
from sparkdl.spark.launch.team import Team
from sparkdl.spark.launch.worker_stage import work
from sparkdl.spark.records.records import read_rows, read_splits, store_tables
from sparkdl.spark.records.stored_partition import store_batches, stored_pieces
from sparkdl.spark.workers import contribute
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.resident.lifecycle import run_worker
from sparkdl.tune.candidate import Candidate
from sparkdl.tune.trial_task import as_task, run_trial
from sparkdl.tune.vote_tasks import Vote, evaluate_votes, vote_columns

CONF = NetworkConf(
    input_shape=(1, 8, 8),
    layers=[
        Conv2D(filters=2, kernel_size=3),
        MaxPool2D(size=2),
        Dense(units=3, activation="relu"),
        Output(units=2),
    ],
    optimizer=Adam(),
)
SCHEMA = schema_of(CONF)
SOURCE = Csv(path="data", features=["x"])
# Objects sent to executors: functions by name, with their arguments.
TASKS = {
    "reading": (read_rows, store_batches, SCHEMA),
    "reading a DataFrame": (store_tables, SCHEMA),
    "reading a source": (read_splits, store_batches, SOURCE.read, SCHEMA),
    "dealing": (stored_pieces, Dealing(counts=(1,), size=1, scatter=True, window=1, seed=0)),
    "rounds through the driver": (contribute, CONF, ParameterAveraging()),
    "workers that stay": (
        StoredShare,
        partial(work, partial(run_worker, b"", None), None, False, "cpu", Team.of([[0]], 1)),
    ),
    "what they train": (run_worker, CONF, AllReduceSGD()),
    "evaluation": (evaluate_partition, CONF),
    "predictions": (predict_batches, CONF),
    "a trial": (as_task, partial(run_trial, b""), Candidate(conf=CONF)),
    "votes": (vote_columns, evaluate_votes, Vote("classes", "soft", None)),
    "columns of pyspark.ml": (compute_outputs, OutputColumns("output", "classes", "prediction")),
    "vectors of pyspark.ml": hide_classes(StructType().add("features", VectorUDT())),
}
OF_DRIVERS = {
    "pyspark.ml",
    "sparkdl.ml",
    "sparkdl.tune.search",
    "optuna",
    "sparkdl.spark.network",
    "sparkdl.spark.session",
    "sparkdl.spark.streaming.stream_fit",
    "sparkdl.interop",
    "sparkdl.commands",
    "pandas",
    "jinja2",
    "tqdm",
    "yaml",
}
OF_OTHER_DATA = {
    "sparkdl.data.readers.avro",
    "sparkdl.data.readers.lmdb_files",
    "sparkdl.data.readers.ndarray",
    "sparkdl.data.readers.sequence_file",
    "sparkdl.data.transforms.crop",
    "sparkdl.data.writers",
    "PIL",
    "asyncio",
    "fastavro",
    "google.protobuf",
    "fsspec",
    "h5py",
    "lmdb",
    "sparkdl.data.readers.text_files",
}
OF_OTHER_NETWORKS = {
    "sparkdl.nn.layers.attention",
    "sparkdl.nn.layers.recurrent.lstm",
    "sparkdl.nn.layers.unsupervised",
    "sparkdl.nn.zoo",
}
NEEDED = {"reading a source": ["asyncio", "fsspec", "sparkdl.data.readers.text_files"]}
# A trial is a whole fit: its executor also does what a driver does in other fits.
NEEDED["a trial"] = ["asyncio", "fsspec", "sparkdl.data.readers.ndarray"]
NEEDED["a trial"] += ["sparkdl.nn.layers.unsupervised"]
CODE = """
import base64, json, os, sys
import pyspark.worker
from pyspark import cloudpickle
from pyspark.ml.linalg import VectorUDT
from pyspark.sql.types import StructType
before = set(sys.modules)
for name, task in json.load(sys.stdin).items():
    if not os.fork():
        cloudpickle.loads(base64.b64decode(task))
        print(json.dumps({name: sorted(set(sys.modules) - before)}))
        break
    os.wait()  # one that fails says so, and leaves out its own line alone
"""


@pytest.fixture(scope="module")
def imported():
    """{name of a task: modules imported by its process}; processes are forked as Spark does it."""
    tasks = {n: base64.b64encode(cloudpickle.dumps(t)).decode() for n, t in TASKS.items()}
    program = [sys.executable, "-c", CODE]
    done = subprocess.run(program, input=json.dumps(tasks), stdout=PIPE, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        found |= json.loads(line)
    return found


@pytest.mark.parametrize("name", TASKS)
def test_a_task_imports_nothing_that_it_does_not_need(name, imported):
    needed = {*NEEDED.get(name, ())}
    unneeded = {*imported[name]} & (OF_DRIVERS | OF_OTHER_DATA | OF_OTHER_NETWORKS) - needed
    assert not unneeded
