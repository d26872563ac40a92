"""Layers, as type checkers and editors see them; __init__.py loads them when they are used."""

from sparkdl.nn.layers.arithmetic.activation import Activation as Activation
from sparkdl.nn.layers.arithmetic.affine import Affine as Affine
from sparkdl.nn.layers.arithmetic.affine import (
    ElementWiseMultiplication as ElementWiseMultiplication,
)
from sparkdl.nn.layers.arithmetic.affine import PRelu as PRelu
from sparkdl.nn.layers.arithmetic.arg_max import ArgMax as ArgMax
from sparkdl.nn.layers.arithmetic.parameter import Learned as Learned
from sparkdl.nn.layers.arithmetic.reduction import Reduce as Reduce
from sparkdl.nn.layers.arithmetic.rescaling import Rescaling as Rescaling
from sparkdl.nn.layers.arithmetic.stop_gradient import StopGradient as StopGradient
from sparkdl.nn.layers.attention.base import Attention as Attention
from sparkdl.nn.layers.attention.multi_head_attention import (
    MultiHeadAttention as MultiHeadAttention,
)
from sparkdl.nn.layers.attention.positional_encoding import PositionalEncoding as PositionalEncoding
from sparkdl.nn.layers.attention.positional_encoding import PositionEmbedding as PositionEmbedding
from sparkdl.nn.layers.attention.self_attention import LearnedSelfAttention as LearnedSelfAttention
from sparkdl.nn.layers.attention.self_attention import SelfAttention as SelfAttention
from sparkdl.nn.layers.convolution.conv import Conv1D as Conv1D
from sparkdl.nn.layers.convolution.conv import Conv2D as Conv2D
from sparkdl.nn.layers.convolution.conv import Conv3D as Conv3D
from sparkdl.nn.layers.convolution.conv_transpose import Conv1DTranspose as Conv1DTranspose
from sparkdl.nn.layers.convolution.conv_transpose import Conv2DTranspose as Conv2DTranspose
from sparkdl.nn.layers.convolution.conv_transpose import Conv3DTranspose as Conv3DTranspose
from sparkdl.nn.layers.convolution.depthwise_conv import DepthwiseConv1D as DepthwiseConv1D
from sparkdl.nn.layers.convolution.depthwise_conv import DepthwiseConv2D as DepthwiseConv2D
from sparkdl.nn.layers.convolution.depthwise_conv import SeparableConv1D as SeparableConv1D
from sparkdl.nn.layers.convolution.depthwise_conv import SeparableConv2D as SeparableConv2D
from sparkdl.nn.layers.convolution.locally_connected import LocallyConnected1D as LocallyConnected1D
from sparkdl.nn.layers.convolution.locally_connected import LocallyConnected2D as LocallyConnected2D
from sparkdl.nn.layers.convolution.unfold import Unfold2D as Unfold2D
from sparkdl.nn.layers.core.base import Layer as Layer
from sparkdl.nn.layers.dense.dense import Dense as Dense
from sparkdl.nn.layers.dense.dense_transpose import DenseTranspose as DenseTranspose
from sparkdl.nn.layers.dense.embedding import Embedding as Embedding
from sparkdl.nn.layers.dense.embedding import EmbeddingSequence as EmbeddingSequence
from sparkdl.nn.layers.joining.batch_reindex import BatchReindex as BatchReindex
from sparkdl.nn.layers.joining.broadcasting import Broadcasting as Broadcasting
from sparkdl.nn.layers.joining.distance import L2Distance as L2Distance
from sparkdl.nn.layers.joining.distance import L2Normalize as L2Normalize
from sparkdl.nn.layers.joining.dot_interaction import DotInteraction as DotInteraction
from sparkdl.nn.layers.joining.mat_mul import MatMul as MatMul
from sparkdl.nn.layers.joining.merge import ElementWise as ElementWise
from sparkdl.nn.layers.joining.merge import JoiningLayer as JoiningLayer
from sparkdl.nn.layers.joining.merge import Merge as Merge
from sparkdl.nn.layers.joining.stack import Stack as Stack
from sparkdl.nn.layers.joining.stack import Unstack as Unstack
from sparkdl.nn.layers.normalization.batch_norm import BatchNorm as BatchNorm
from sparkdl.nn.layers.normalization.group_norm import GroupNorm as GroupNorm
from sparkdl.nn.layers.normalization.layer_norm import LayerNorm as LayerNorm
from sparkdl.nn.layers.normalization.lrn import LRN as LRN
from sparkdl.nn.layers.normalization.mvn import MVN as MVN
from sparkdl.nn.layers.normalization.rms_norm import RMSNorm as RMSNorm
from sparkdl.nn.layers.outputs.added_loss import AddedLoss as AddedLoss
from sparkdl.nn.layers.outputs.base import ScoredLayer as ScoredLayer
from sparkdl.nn.layers.outputs.center_loss_output import CenterLossOutput as CenterLossOutput
from sparkdl.nn.layers.outputs.comparison import Comparison as Comparison
from sparkdl.nn.layers.outputs.comparison import GainComparison as GainComparison
from sparkdl.nn.layers.outputs.loss_layer import LossLayer as LossLayer
from sparkdl.nn.layers.outputs.output import Output as Output
from sparkdl.nn.layers.outputs.output import RnnOutput as RnnOutput
from sparkdl.nn.layers.pooling.avg_pool import AvgPool1D as AvgPool1D
from sparkdl.nn.layers.pooling.avg_pool import AvgPool2D as AvgPool2D
from sparkdl.nn.layers.pooling.avg_pool import AvgPool3D as AvgPool3D
from sparkdl.nn.layers.pooling.global_pool import GlobalPool as GlobalPool
from sparkdl.nn.layers.pooling.lp_pool import LpPool1D as LpPool1D
from sparkdl.nn.layers.pooling.lp_pool import LpPool2D as LpPool2D
from sparkdl.nn.layers.pooling.lp_pool import LpPool3D as LpPool3D
from sparkdl.nn.layers.pooling.max_pool import MaxPool1D as MaxPool1D
from sparkdl.nn.layers.pooling.max_pool import MaxPool2D as MaxPool2D
from sparkdl.nn.layers.pooling.max_pool import MaxPool3D as MaxPool3D
from sparkdl.nn.layers.pooling.max_pool import MaxPoolIndex2D as MaxPoolIndex2D
from sparkdl.nn.layers.pooling.spatial_pyramid_pool import SpatialPyramidPool as SpatialPyramidPool
from sparkdl.nn.layers.pooling.stochastic_pool import StochasticPool2D as StochasticPool2D
from sparkdl.nn.layers.recurrent.base import Recurrent as Recurrent
from sparkdl.nn.layers.recurrent.bidirectional import Bidirectional as Bidirectional
from sparkdl.nn.layers.recurrent.gru import GRU as GRU
from sparkdl.nn.layers.recurrent.lstm import LSTM as LSTM
from sparkdl.nn.layers.recurrent.lstm import GravesLSTM as GravesLSTM
from sparkdl.nn.layers.recurrent.simple_rnn import SimpleRnn as SimpleRnn
from sparkdl.nn.layers.recurrent.steps import LastTimeStep as LastTimeStep
from sparkdl.nn.layers.recurrent.steps import Masking as Masking
from sparkdl.nn.layers.recurrent.time_axis import DuplicateToTime as DuplicateToTime
from sparkdl.nn.layers.recurrent.time_axis import ReverseTime as ReverseTime
from sparkdl.nn.layers.regularization.dropout import Dropout as Dropout
from sparkdl.nn.layers.regularization.noise import AlphaDropout as AlphaDropout
from sparkdl.nn.layers.regularization.noise import GaussianDropout as GaussianDropout
from sparkdl.nn.layers.regularization.noise import GaussianNoise as GaussianNoise
from sparkdl.nn.layers.regularization.noise import RRelu as RRelu
from sparkdl.nn.layers.regularization.noise import SpatialDropout as SpatialDropout
from sparkdl.nn.layers.regularization.stochastic_depth import StochasticDepth as StochasticDepth
from sparkdl.nn.layers.reshaping.flatten import Flatten as Flatten
from sparkdl.nn.layers.reshaping.margins import Cropping1D as Cropping1D
from sparkdl.nn.layers.reshaping.margins import Cropping2D as Cropping2D
from sparkdl.nn.layers.reshaping.margins import Cropping3D as Cropping3D
from sparkdl.nn.layers.reshaping.margins import ZeroPadding1D as ZeroPadding1D
from sparkdl.nn.layers.reshaping.margins import ZeroPadding2D as ZeroPadding2D
from sparkdl.nn.layers.reshaping.margins import ZeroPadding3D as ZeroPadding3D
from sparkdl.nn.layers.reshaping.reshape import Permute as Permute
from sparkdl.nn.layers.reshaping.reshape import RepeatVector as RepeatVector
from sparkdl.nn.layers.reshaping.reshape import Reshape as Reshape
from sparkdl.nn.layers.reshaping.space_to_depth import DepthToSpace as DepthToSpace
from sparkdl.nn.layers.reshaping.space_to_depth import SpaceToDepth as SpaceToDepth
from sparkdl.nn.layers.reshaping.subset import Subset as Subset
from sparkdl.nn.layers.reshaping.upsampling import UpSampling1D as UpSampling1D
from sparkdl.nn.layers.reshaping.upsampling import UpSampling2D as UpSampling2D
from sparkdl.nn.layers.reshaping.upsampling import UpSampling3D as UpSampling3D
from sparkdl.nn.layers.unsupervised.auto_encoder import AutoEncoder as AutoEncoder
from sparkdl.nn.layers.unsupervised.base import UnsupervisedLayer as UnsupervisedLayer
from sparkdl.nn.layers.unsupervised.reconstruction import Reconstruction as Reconstruction
from sparkdl.nn.layers.unsupervised.variational_auto_encoder import (
    VariationalAutoencoder as VariationalAutoencoder,
)
from sparkdl.nn.layers.wrappers.base import Wrapper as Wrapper
from sparkdl.nn.layers.wrappers.frozen import Frozen as Frozen
from sparkdl.nn.layers.wrappers.time_distributed import TimeDistributed as TimeDistributed

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
    "DenseTranspose",
    "DepthToSpace",
    "DepthwiseConv1D",
    "DepthwiseConv2D",
    "DotInteraction",
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
    "GroupNorm",
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
    "MatMul",
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
    "RMSNorm",
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
    "StochasticDepth",
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
