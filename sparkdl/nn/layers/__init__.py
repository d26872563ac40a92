"""Layers: the parts of a network."""

from sparkdl.nn.layers.activation import Activation
from sparkdl.nn.layers.added_loss import AddedLoss
from sparkdl.nn.layers.affine import Affine, ElementWiseMultiplication, PRelu
from sparkdl.nn.layers.arg_max import ArgMax
from sparkdl.nn.layers.arranging import Permute, RepeatVector, Reshape
from sparkdl.nn.layers.attention import Attention
from sparkdl.nn.layers.auto_encoder import AutoEncoder
from sparkdl.nn.layers.avg_pool import AvgPool1D, AvgPool2D, AvgPool3D
from sparkdl.nn.layers.base import Layer
from sparkdl.nn.layers.batch_norm import BatchNorm
from sparkdl.nn.layers.batch_reindex import BatchReindex
from sparkdl.nn.layers.bidirectional import Bidirectional
from sparkdl.nn.layers.broadcasting import Broadcasting
from sparkdl.nn.layers.center_loss_output import CenterLossOutput
from sparkdl.nn.layers.comparison import Comparison, GainComparison
from sparkdl.nn.layers.conv import Conv1D, Conv2D, Conv3D
from sparkdl.nn.layers.conv_transpose import (
    Conv1DTranspose,
    Conv2DTranspose,
    Conv3DTranspose,
)
from sparkdl.nn.layers.dense import Dense
from sparkdl.nn.layers.depthwise_conv import (
    DepthwiseConv1D,
    DepthwiseConv2D,
    SeparableConv1D,
    SeparableConv2D,
)
from sparkdl.nn.layers.distance import L2Distance, L2Normalize
from sparkdl.nn.layers.dropout import Dropout
from sparkdl.nn.layers.embedding import Embedding, EmbeddingSequence
from sparkdl.nn.layers.flatten import Flatten
from sparkdl.nn.layers.frozen import Frozen
from sparkdl.nn.layers.global_pool import GlobalPool
from sparkdl.nn.layers.gru import GRU
from sparkdl.nn.layers.joining import ElementWise, JoiningLayer, Merge
from sparkdl.nn.layers.layer_norm import LayerNorm
from sparkdl.nn.layers.learned import Learned
from sparkdl.nn.layers.locally_connected import LocallyConnected1D, LocallyConnected2D
from sparkdl.nn.layers.loss_layer import LossLayer
from sparkdl.nn.layers.lp_pool import LpPool1D, LpPool2D, LpPool3D
from sparkdl.nn.layers.lrn import LRN
from sparkdl.nn.layers.lstm import LSTM, GravesLSTM
from sparkdl.nn.layers.margins import (
    Cropping1D,
    Cropping2D,
    Cropping3D,
    ZeroPadding1D,
    ZeroPadding2D,
    ZeroPadding3D,
)
from sparkdl.nn.layers.max_pool import MaxPool1D, MaxPool2D, MaxPool3D, MaxPoolIndex2D
from sparkdl.nn.layers.multi_head_attention import MultiHeadAttention
from sparkdl.nn.layers.mvn import MVN
from sparkdl.nn.layers.noise import (
    AlphaDropout,
    GaussianDropout,
    GaussianNoise,
    RRelu,
    SpatialDropout,
)
from sparkdl.nn.layers.output import Output, RnnOutput
from sparkdl.nn.layers.over_time import DuplicateToTime, ReverseTime
from sparkdl.nn.layers.position import PositionalEncoding, PositionEmbedding
from sparkdl.nn.layers.reconstructing import UnsupervisedLayer
from sparkdl.nn.layers.reconstruction import Reconstruction
from sparkdl.nn.layers.recurrent import Recurrent
from sparkdl.nn.layers.reduction import Reduce
from sparkdl.nn.layers.rescaling import Rescaling
from sparkdl.nn.layers.scored import ScoredLayer
from sparkdl.nn.layers.self_attention import LearnedSelfAttention, SelfAttention
from sparkdl.nn.layers.simple_rnn import SimpleRnn
from sparkdl.nn.layers.space_to_depth import DepthToSpace, SpaceToDepth
from sparkdl.nn.layers.spatial_pyramid_pool import SpatialPyramidPool
from sparkdl.nn.layers.stacking import Stack, Unstack
from sparkdl.nn.layers.steps import LastTimeStep, Masking
from sparkdl.nn.layers.stochastic_pool import StochasticPool2D
from sparkdl.nn.layers.stop_gradient import StopGradient
from sparkdl.nn.layers.subset import Subset
from sparkdl.nn.layers.time_distributed import TimeDistributed
from sparkdl.nn.layers.unfold import Unfold2D
from sparkdl.nn.layers.upsampling import UpSampling1D, UpSampling2D, UpSampling3D
from sparkdl.nn.layers.variational_auto_encoder import VariationalAutoencoder
from sparkdl.nn.layers.wrapper import Wrapper
