"""Deep learning where Hadoop data lives: Spark executors train replicas, a driver averages them.

Parts, each importing only those to its left:

    errors <- config <- every other part
    errors <- error_messages <- exchange, training, spark
    config, philox <- engine <- nn <- training <- interop <- spark <- ml <- tune
    spark <- commands <- cli
    config, philox <- data <- training
    config <- exchange <- training

config      checked and documented options, found by name, written as JSON or YAML
philox      counter-based random numbers
engine      computation on arrays: graphs, gradients, programs, kernels
nn          configuration of networks: layers, losses, optimizers
data        readers, from storage to batches
exchange    communication among processes: links, collectives, a key-value store
training    training on one or several workers; evaluation, checkpoints, progress
spark       the same on a Spark cluster; only spark, ml and tune import pyspark
ml          estimators and models for pyspark.ml
tune        hyperparameter search and ensembles
interop     import and export of other frameworks' files
commands    subcommands of the command line

README.md in this folder explains how they fit together.

The names below are loaded on first use, so importing sparkdl is quick and does not need Spark;
__init__.pyi declares them for type checkers and editors. Names that are clear only in their family
stay in its module: sparkdl.schedules.StepSchedule, sparkdl.losses.Huber.
"""

import sys
from importlib import import_module

from sparkdl.conflict import warn_if_shadowed

__version__ = "0.1.0"

MODULES = [
    "activations",
    "clipping",
    "codecs",
    "constraints",
    "errors",
    "evaluations",
    "initializers",
    "layers",
    "listeners",
    "losses",
    "masters",
    "mlflow",
    "optimizers",
    "readers",
    "schedules",
    "solvers",
    "transforms",
    "weight_noise",
    "zoo",
]
EXPORTS = {
    # networks, training and use
    "sparkdl.nn": "EmbeddingBag GraphBuilder GraphConf NetworkConf Vertex",
    "sparkdl.training.network": "Network",
    "sparkdl.training.generation": "generate",
    "sparkdl.training.saving.checkpoint": "Checkpoints",
    "sparkdl.training.saving.state": "TrainState",
    "sparkdl.training.transfer": "replace_optimizer replace_output",
    "sparkdl.training.workers.local": "LocalWorkers",
    "sparkdl.spark": "doctor predict_column SparkNetwork SparkWorkers Tokenizer",
    # layers and optimizers
    "sparkdl.layers": """
        Activation AddedLoss Affine AlphaDropout ArgMax AutoEncoder AvgPool1D AvgPool2D AvgPool3D
        BatchNorm BatchReindex Bidirectional Broadcasting CenterLossOutput Comparison Conv1D
        Conv1DTranspose Conv2D Conv2DTranspose Conv3D Conv3DTranspose Cropping1D Cropping2D
        Cropping3D Dense DenseTranspose DepthToSpace DepthwiseConv1D DepthwiseConv2D DotInteraction
        Dropout DuplicateToTime ElementWise ElementWiseMultiplication Embedding EmbeddingSequence
        Flatten Frozen GainComparison GaussianDropout GaussianNoise GlobalPool GravesLSTM GroupNorm
        GRU L2Distance L2Normalize LastTimeStep Layer LayerNorm Learned LearnedSelfAttention
        LocallyConnected1D LocallyConnected2D LossLayer LpPool1D LpPool2D LpPool3D LRN LSTM Masking
        MatMul MaxPool1D MaxPool2D MaxPool3D MaxPoolIndex2D Merge MultiHeadAttention MVN Output
        Permute PositionalEncoding PositionEmbedding PRelu Reconstruction Reduce RepeatVector
        Rescaling Reshape ReverseTime RMSNorm RnnOutput RRelu SelfAttention SeparableConv1D
        SeparableConv2D SimpleRnn SpaceToDepth SpatialDropout SpatialPyramidPool Stack
        StochasticDepth StochasticPool2D StopGradient Subset TimeDistributed Unfold2D Unstack
        UpSampling1D UpSampling2D UpSampling3D VariationalAutoencoder ZeroPadding1D ZeroPadding2D
        ZeroPadding3D""",
    "sparkdl.optimizers": """
        AdaBelief AdaDelta AdaGrad Adam AdaMax AdamHat AdamW AMSGrad Ftrl Lamb Lars Momentum Nadam
        Nesterov Optimizer RmsProp Sgd""",
    # ways of training on several workers
    "sparkdl.masters": """
        AllReduceSGD BlockMomentum ElasticAveraging GradientSharing LocalSGD ParameterAveraging
        ParameterServer PipelineParallel TensorParallel TrainingMaster""",
    # data
    "sparkdl.data": "Batch digits write_lmdb",
    "sparkdl.readers": """
        Arrays AvroFiles Characters Cifar Csv DataFrames Digits FrameColumn HDF5 Idx Images LMDB
        Numbers Parquet Pictures SequenceFiles Source TextSequences TFRecords""",
    # what comes out
    "sparkdl.evaluations": """
        Classification Evaluation MeanLoss MultiLabelEvaluation Regression Roc""",
    "sparkdl.listeners": """
        Dashboard EarlyStopping EpochReport FitPlan History HtmlReport Inspection Inspector
        LambdaListener LayerReport Listener ModelCheckpoint Monitor OpenTelemetryMetrics ProgressBar
        PrometheusEndpoint ReduceLROnPlateau Restart RoundReport RunLog Steering StopTraining
        TensorBoard TerminateOnMaxLoss TerminateOnSignal TerminateOnTarget TerminateOnTime
        ValidationReport WorkerFigures WrongExample""",
    "sparkdl.errors": """
        CheckpointError ConfigError DataError DeviceError DivergedError LostRecords NoRecords
        NoSlots NothingToEvaluate OperandError PeerError ShapeError SparkdlError UnsupportedError
        WorkerError""",
}
# Names of other parts, for the errors of those who look for them here.
ELSEWHERE = {
    "sparkdl.interop.caffe": "read_net read_solver",
    "sparkdl.interop.dl4j": "read_dl4j",
    "sparkdl.interop.keras": "KerasModel KerasPredictor read_keras trained_model write_keras",
    "sparkdl.interop.onnx": "OnnxFunction OnnxPredictor read_onnx write_onnx",
    "sparkdl.interop.torch": """
        read_module read_torch read_transformer TorchModel TorchPredictor trained_module""",
    "sparkdl.ml": """
        SparkNetworkClassificationModel SparkNetworkClassifier SparkNetworkEstimator
        SparkNetworkModel SparkNetworkRegressionModel SparkNetworkRegressor""",
    "sparkdl.tune": "EnsembleModel Search TuneEstimator",
}
HOMES = {name: module for module, names in EXPORTS.items() for name in names.split()}
# A star must not hide the package mlflow.
__all__ = ["__version__", *(name for name in MODULES if name != "mlflow"), *HOMES]


def __getattr__(name):
    if name in HOMES:
        value = getattr(import_module(HOMES[name]), name)
    elif name in MODULES:
        value = import_module(f"sparkdl.{name}")
    else:
        raise missing_name(name)
    globals()[name] = value
    return value


def missing_name(name):
    """Returns the error for a name that is not here; it says from where to import it, if known.

    `from sparkdl import X` loses the text of an AttributeError, so it gets an ImportError.
    """
    place, message = place_of(name), f"module 'sparkdl' has no attribute {name!r}"
    if not place:
        return AttributeError(message)
    cure = f"write: from {place} import {name}"
    asks = sys._getframe(2).f_code  # what calls __getattr__
    if asks.co_name == "_handle_fromlist" and "importlib" in asks.co_filename:
        message = f"cannot import name {name!r} from 'sparkdl'; {cure}"
        return ImportError(message, name="sparkdl", path=__file__)
    return AttributeError(f"{message}; {cure}")


def place_of(name):
    """Returns the module to import a name from, "sparkdl.schedules" for StepSchedule, or ""."""
    for module, names in ELSEWHERE.items():
        if name in names.split():
            return module
    for module in MODULES if name[:1].isupper() else ():
        if name in import_module(f"sparkdl.{module}").__all__:
            return f"sparkdl.{module}"
    return ""


def __dir__():
    return sorted({*__all__, *MODULES})


warn_if_shadowed()
