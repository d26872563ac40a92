"""Deep learning where Hadoop data lives: Spark executors train replicas, a driver averages them.

Parts, each importing only those to its left:

    errors <- engine <- nn <- training <- spark <- commands <- cli
    errors <- data, exchange <- training
    errors, nn, data <- interop
    training, spark <- tune, report

engine      arrays in, arrays out: graphs, gradients, programs, kernels
nn          what a user configures: layers, losses, updaters, networks
data        storage to batches
training    who computes what, when it is exchanged; evaluation, checkpoints, progress
spark       the same on a cluster; the only part that imports pyspark
commands    what the command line does

The names below are loaded when they are first used, so that importing sparkdl is quick and needs
no Spark.
"""

import importlib

from sparkdl.conflict import warn_if_shadowed

__version__ = "0.1.0"

NAMES = {
    "sparkdl.nn": """
        NetworkConf Activation AvgPool2D BatchNorm Conv2D Dense Dropout Flatten GlobalPool MaxPool2D
        Output Sgd Momentum Nesterov Adam AdamW AdaMax Nadam AMSGrad AdaBelief RmsProp AdaGrad
        AdaDelta Fixed Step MultiStep PiecewiseConstant Exponential Inverse Polynomial Sigmoid
        Cosine OneCycle WarmUp Ramp ClipValue ClipNorm ClipLayerNorm""",
    "sparkdl.data": "Arrays Batch LMDB Parquet Scale digits write_lmdb",
    "sparkdl.training.averaging": "ParameterAveraging",
    "sparkdl.training.checkpoint": "Checkpoints",
    "sparkdl.training.listeners": "Listener",
    "sparkdl.training.local": "LocalWorkers",
    "sparkdl.training.network": "Network",
    "sparkdl.training.progress": "ProgressBar",
    "sparkdl.spark": "SparkNetwork",
    "sparkdl.errors": """
        SparkdlError ConfigError ShapeError DataError CheckpointError UnsupportedError WorkerError
        DivergedError""",
}
HOMES = {name: module for module, names in NAMES.items() for name in names.split()}
__all__ = ["__version__", *HOMES]


def __getattr__(name):
    if name not in HOMES:
        raise AttributeError(f"module 'sparkdl' has no attribute {name!r}")
    value = getattr(importlib.import_module(HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})


warn_if_shadowed()
