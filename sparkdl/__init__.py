"""Deep learning where Hadoop data lives: Spark executors train replicas, a driver averages them.

Parts, each importing only those to its left:

    errors <- config <- every other part
    errors <- error_messages <- exchange, training, spark
    config, philox <- engine <- nn <- training <- spark <- commands <- cli
    config, philox <- data <- training
    config <- exchange <- training
    nn, data <- interop <- commands
    training, spark <- tune, report

config      options that are checked, documented, found by name, and written as JSON or YAML
philox      random numbers as a function of what they are for
engine      arrays in, arrays out: graphs, gradients, programs, kernels
nn          what a user configures: layers, losses, optimizers, networks
data        storage to batches
exchange    what processes do together: links, sums, a key-value store
training    who computes what, when it is exchanged; evaluation, checkpoints, progress
spark       the same on a cluster; the only part that imports pyspark
interop     files of other systems
commands    what the command line does

The names below, and those of sparkdl.nn, are loaded when they are first used, so that importing
sparkdl is quick and needs no Spark.
"""

import importlib

from sparkdl.conflict import warn_if_shadowed

__version__ = "0.1.0"

NAMES = {
    "sparkdl.data": "Arrays Batch Characters LMDB Parquet Scale TextSequences digits write_lmdb",
    "sparkdl.training.masters.all_reduce.master": "AllReduceSGD",
    "sparkdl.training.masters.parameter_averaging.master": "ParameterAveraging",
    "sparkdl.training.masters.block_momentum.master": "BlockMomentum",
    "sparkdl.training.saving.checkpoint": "Checkpoints",
    "sparkdl.training.masters.elastic_averaging.master": "ElasticAveraging",
    "sparkdl.training.generation": "generate",
    "sparkdl.training.reporting.listeners": "Listener",
    "sparkdl.training.workers.local": "LocalWorkers",
    "sparkdl.training.masters.local_sgd.master": "LocalSGD",
    "sparkdl.training.network": "Network",
    "sparkdl.training.masters.parameter_server.master": "ParameterServer",
    "sparkdl.training.reporting.progress_bar": "ProgressBar",
    "sparkdl.training.masters.gradient_sharing.master": "GradientSharing",
    "sparkdl.spark": "SparkNetwork",
    "sparkdl.errors": """
        SparkdlError ConfigError ShapeError DataError NoRecords CheckpointError UnsupportedError
        WorkerError PeerError DivergedError""",
}
HOMES = {name: module for module, names in NAMES.items() for name in names.split()}
__all__ = ["__version__", *HOMES]


def __getattr__(name):
    home = HOMES.get(name, "sparkdl.nn")
    value = None if name.startswith("_") else getattr(importlib.import_module(home), name, None)
    if not callable(value):
        raise AttributeError(f"module 'sparkdl' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    nn = vars(importlib.import_module("sparkdl.nn"))
    return sorted({*globals(), *__all__, *(name for name in nn if callable(nn[name]))})


warn_if_shadowed()
