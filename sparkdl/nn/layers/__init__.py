"""Layers: the parts of a network."""

from sparkdl.nn.layers.arithmetic.activation import Activation
from sparkdl.nn.layers.arithmetic.affine import Affine, ElementWiseMultiplication, PRelu
from sparkdl.nn.layers.arithmetic.arg_max import ArgMax
from sparkdl.nn.layers.arithmetic.parameter import Learned
from sparkdl.nn.layers.arithmetic.reduction import Reduce
from sparkdl.nn.layers.arithmetic.rescaling import Rescaling
from sparkdl.nn.layers.arithmetic.stop_gradient import StopGradient
from sparkdl.nn.layers.attention.base import Attention
from sparkdl.nn.layers.attention.multi_head_attention import MultiHeadAttention
from sparkdl.nn.layers.attention.positional_encoding import PositionalEncoding, PositionEmbedding
from sparkdl.nn.layers.attention.self_attention import LearnedSelfAttention, SelfAttention
from sparkdl.nn.layers.convolution.conv import Conv1D, Conv2D, Conv3D
from sparkdl.nn.layers.convolution.conv_transpose import (
    Conv1DTranspose,
    Conv2DTranspose,
    Conv3DTranspose,
)
from sparkdl.nn.layers.convolution.depthwise_conv import (
    DepthwiseConv1D,
    DepthwiseConv2D,
    SeparableConv1D,
    SeparableConv2D,
)
from sparkdl.nn.layers.convolution.locally_connected import LocallyConnected1D, LocallyConnected2D
from sparkdl.nn.layers.convolution.unfold import Unfold2D
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.dense.dense import Dense
from sparkdl.nn.layers.dense.embedding import Embedding, EmbeddingSequence
from sparkdl.nn.layers.joining.batch_reindex import BatchReindex
from sparkdl.nn.layers.joining.broadcasting import Broadcasting
from sparkdl.nn.layers.joining.distance import L2Distance, L2Normalize
from sparkdl.nn.layers.joining.merge import ElementWise, JoiningLayer, Merge
from sparkdl.nn.layers.joining.stack import Stack, Unstack
from sparkdl.nn.layers.normalization.batch_norm import BatchNorm
from sparkdl.nn.layers.normalization.layer_norm import LayerNorm
from sparkdl.nn.layers.normalization.lrn import LRN
from sparkdl.nn.layers.normalization.mvn import MVN
from sparkdl.nn.layers.outputs.added_loss import AddedLoss
from sparkdl.nn.layers.outputs.base import ScoredLayer
from sparkdl.nn.layers.outputs.center_loss_output import CenterLossOutput
from sparkdl.nn.layers.outputs.comparison import Comparison, GainComparison
from sparkdl.nn.layers.outputs.loss_layer import LossLayer
from sparkdl.nn.layers.outputs.output import Output, RnnOutput
from sparkdl.nn.layers.pooling.avg_pool import AvgPool1D, AvgPool2D, AvgPool3D
from sparkdl.nn.layers.pooling.global_pool import GlobalPool
from sparkdl.nn.layers.pooling.lp_pool import LpPool1D, LpPool2D, LpPool3D
from sparkdl.nn.layers.pooling.max_pool import MaxPool1D, MaxPool2D, MaxPool3D, MaxPoolIndex2D
from sparkdl.nn.layers.pooling.spatial_pyramid_pool import SpatialPyramidPool
from sparkdl.nn.layers.pooling.stochastic_pool import StochasticPool2D
from sparkdl.nn.layers.recurrent.base import Recurrent
from sparkdl.nn.layers.recurrent.bidirectional import Bidirectional
from sparkdl.nn.layers.recurrent.gru import GRU
from sparkdl.nn.layers.recurrent.lstm import LSTM, GravesLSTM
from sparkdl.nn.layers.recurrent.simple_rnn import SimpleRnn
from sparkdl.nn.layers.recurrent.steps import LastTimeStep, Masking
from sparkdl.nn.layers.recurrent.time_axis import DuplicateToTime, ReverseTime
from sparkdl.nn.layers.regularization.dropout import Dropout
from sparkdl.nn.layers.regularization.noise import (
    AlphaDropout,
    GaussianDropout,
    GaussianNoise,
    RRelu,
    SpatialDropout,
)
from sparkdl.nn.layers.reshaping.flatten import Flatten
from sparkdl.nn.layers.reshaping.margins import (
    Cropping1D,
    Cropping2D,
    Cropping3D,
    ZeroPadding1D,
    ZeroPadding2D,
    ZeroPadding3D,
)
from sparkdl.nn.layers.reshaping.reshape import Permute, RepeatVector, Reshape
from sparkdl.nn.layers.reshaping.space_to_depth import DepthToSpace, SpaceToDepth
from sparkdl.nn.layers.reshaping.subset import Subset
from sparkdl.nn.layers.reshaping.upsampling import UpSampling1D, UpSampling2D, UpSampling3D
from sparkdl.nn.layers.unsupervised.auto_encoder import AutoEncoder
from sparkdl.nn.layers.unsupervised.base import UnsupervisedLayer
from sparkdl.nn.layers.unsupervised.reconstruction import Reconstruction
from sparkdl.nn.layers.unsupervised.variational_auto_encoder import VariationalAutoencoder
from sparkdl.nn.layers.wrappers.base import Wrapper
from sparkdl.nn.layers.wrappers.frozen import Frozen
from sparkdl.nn.layers.wrappers.time_distributed import TimeDistributed

__all__ = [
    "Activation",
    "AddedLoss",
    "Affine",
    "AlphaDropout",
    "ArgMax",
    "AutoEncoder",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "BatchNorm",
    "BatchReindex",
    "Bidirectional",
    "Broadcasting",
    "CenterLossOutput",
    "Comparison",
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "Cropping1D",
    "Cropping2D",
    "Cropping3D",
    "Dense",
    "DepthToSpace",
    "DepthwiseConv1D",
    "DepthwiseConv2D",
    "Dropout",
    "DuplicateToTime",
    "ElementWise",
    "ElementWiseMultiplication",
    "Embedding",
    "EmbeddingSequence",
    "Flatten",
    "Frozen",
    "GainComparison",
    "GaussianDropout",
    "GaussianNoise",
    "GlobalPool",
    "GravesLSTM",
    "GRU",
    "L2Distance",
    "L2Normalize",
    "LastTimeStep",
    "Layer",
    "LayerNorm",
    "Learned",
    "LearnedSelfAttention",
    "LocallyConnected1D",
    "LocallyConnected2D",
    "LossLayer",
    "LpPool1D",
    "LpPool2D",
    "LpPool3D",
    "LRN",
    "LSTM",
    "Masking",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "MaxPoolIndex2D",
    "Merge",
    "MultiHeadAttention",
    "MVN",
    "Output",
    "Permute",
    "PositionalEncoding",
    "PositionEmbedding",
    "PRelu",
    "Reconstruction",
    "Reduce",
    "RepeatVector",
    "Rescaling",
    "Reshape",
    "ReverseTime",
    "RnnOutput",
    "RRelu",
    "SelfAttention",
    "SeparableConv1D",
    "SeparableConv2D",
    "SimpleRnn",
    "SpaceToDepth",
    "SpatialDropout",
    "SpatialPyramidPool",
    "Stack",
    "StochasticPool2D",
    "StopGradient",
    "Subset",
    "TimeDistributed",
    "Unfold2D",
    "Unstack",
    "UpSampling1D",
    "UpSampling2D",
    "UpSampling3D",
    "VariationalAutoencoder",
    "ZeroPadding1D",
    "ZeroPadding2D",
    "ZeroPadding3D",
]
