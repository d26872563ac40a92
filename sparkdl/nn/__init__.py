"""What a user configures: networks, layers, updaters, schedules, and how they compute."""

from sparkdl.nn.activations import ActivationFunction
from sparkdl.nn.any_conf import conf_from_dict, conf_from_json
from sparkdl.nn.clipping import (
    ClipArrayNorm,
    ClipLayerNorm,
    ClipNorm,
    Clipping,
    ClipValue,
    UnitArrayNorm,
    UnitLayerNorm,
)
from sparkdl.nn.conf import Conf
from sparkdl.nn.constraints import Constraint, MaxNorm, MinMaxNorm, NonNegative, UnitNorm
from sparkdl.nn.forward import Forward, forward
from sparkdl.nn.graph import GraphConf, Vertex
from sparkdl.nn.graph_builder import GraphBuilder
from sparkdl.nn.initial import initial_buffers, initial_params, initial_slots
from sparkdl.nn.initializers import Initializer
from sparkdl.nn.layers import (
    LRN,
    MVN,
    Activation,
    Affine,
    AlphaDropout,
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    BatchNorm,
    Conv1D,
    Conv1DTranspose,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    Conv3DTranspose,
    Dense,
    DepthwiseConv1D,
    DepthwiseConv2D,
    Dropout,
    DuplicateToTime,
    ElementWise,
    ElementWiseMultiplication,
    Embedding,
    EmbeddingSequence,
    Flatten,
    Frozen,
    GaussianDropout,
    GaussianNoise,
    GlobalPool,
    L2Distance,
    L2Normalize,
    Layer,
    LayerNorm,
    LearnedSelfAttention,
    LossLayer,
    LpPool1D,
    LpPool2D,
    LpPool3D,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
    Merge,
    MultiHeadAttention,
    Output,
    Permute,
    PositionalEncoding,
    PositionEmbedding,
    PRelu,
    RepeatVector,
    Rescaling,
    Reshape,
    ReverseTime,
    RnnOutput,
    RRelu,
    ScoredLayer,
    SelfAttention,
    SeparableConv1D,
    SeparableConv2D,
    SpatialDropout,
    Stack,
    Subset,
    Unstack,
)
from sparkdl.nn.layout import Layout
from sparkdl.nn.losses import Loss
from sparkdl.nn.network import NetworkConf
from sparkdl.nn.run import Run
from sparkdl.nn.schedules import (
    Cosine,
    Exponential,
    Fixed,
    Inverse,
    MultiStep,
    OneCycle,
    PiecewiseConstant,
    Polynomial,
    Ramp,
    Schedule,
    Sigmoid,
    Step,
    WarmUp,
)
from sparkdl.nn.solvers import ConjugateGradient, Lbfgs, LineDescent, Solver
from sparkdl.nn.update import updated
from sparkdl.nn.updaters import (
    AdaBelief,
    AdaDelta,
    AdaGrad,
    Adam,
    AdaMax,
    AdamW,
    AMSGrad,
    Lamb,
    Lars,
    Momentum,
    Nadam,
    Nesterov,
    RmsProp,
    Sgd,
    Updater,
)
