"""Layers: the parts of a network."""

from sparkdl.lazy_names import homes, lazy_names

LAYERS = {
    "sparkdl.nn.layers.arithmetic.activation": "Activation",
    "sparkdl.nn.layers.arithmetic.affine": "Affine ElementWiseMultiplication PRelu",
    "sparkdl.nn.layers.arithmetic.arg_max": "ArgMax",
    "sparkdl.nn.layers.arithmetic.parameter": "Learned",
    "sparkdl.nn.layers.arithmetic.reduction": "Reduce",
    "sparkdl.nn.layers.arithmetic.rescaling": "Rescaling",
    "sparkdl.nn.layers.arithmetic.stop_gradient": "StopGradient",
    "sparkdl.nn.layers.attention.multi_head_attention": "MultiHeadAttention",
    "sparkdl.nn.layers.attention.positional_encoding": "PositionalEncoding PositionEmbedding",
    "sparkdl.nn.layers.attention.self_attention": "LearnedSelfAttention SelfAttention",
    "sparkdl.nn.layers.convolution.conv": "Conv1D Conv2D Conv3D",
    "sparkdl.nn.layers.convolution.conv_transpose": """
        Conv1DTranspose Conv2DTranspose Conv3DTranspose""",
    "sparkdl.nn.layers.convolution.depthwise_conv": """
        DepthwiseConv1D DepthwiseConv2D SeparableConv1D SeparableConv2D""",
    "sparkdl.nn.layers.convolution.locally_connected": "LocallyConnected1D LocallyConnected2D",
    "sparkdl.nn.layers.convolution.unfold": "Unfold2D",
    "sparkdl.nn.layers.dense.dense": "Dense",
    "sparkdl.nn.layers.dense.dense_transpose": "DenseTranspose",
    "sparkdl.nn.layers.dense.embedding": "Embedding EmbeddingSequence",
    "sparkdl.nn.layers.joining.batch_reindex": "BatchReindex",
    "sparkdl.nn.layers.joining.broadcasting": "Broadcasting",
    "sparkdl.nn.layers.joining.distance": "L2Distance L2Normalize",
    "sparkdl.nn.layers.joining.dot_interaction": "DotInteraction",
    "sparkdl.nn.layers.joining.mat_mul": "MatMul",
    "sparkdl.nn.layers.joining.merge": "ElementWise Merge",
    "sparkdl.nn.layers.joining.stack": "Stack Unstack",
    "sparkdl.nn.layers.normalization.batch_norm": "BatchNorm",
    "sparkdl.nn.layers.normalization.group_norm": "GroupNorm",
    "sparkdl.nn.layers.normalization.layer_norm": "LayerNorm",
    "sparkdl.nn.layers.normalization.lrn": "LRN",
    "sparkdl.nn.layers.normalization.mvn": "MVN",
    "sparkdl.nn.layers.normalization.rms_norm": "RMSNorm",
    "sparkdl.nn.layers.outputs.added_loss": "AddedLoss",
    "sparkdl.nn.layers.outputs.center_loss_output": "CenterLossOutput",
    "sparkdl.nn.layers.outputs.comparison": "Comparison GainComparison",
    "sparkdl.nn.layers.outputs.loss_layer": "LossLayer",
    "sparkdl.nn.layers.outputs.output": "Output RnnOutput",
    "sparkdl.nn.layers.pooling.avg_pool": "AvgPool1D AvgPool2D AvgPool3D",
    "sparkdl.nn.layers.pooling.global_pool": "GlobalPool",
    "sparkdl.nn.layers.pooling.lp_pool": "LpPool1D LpPool2D LpPool3D",
    "sparkdl.nn.layers.pooling.max_pool": "MaxPool1D MaxPool2D MaxPool3D MaxPoolIndex2D",
    "sparkdl.nn.layers.pooling.spatial_pyramid_pool": "SpatialPyramidPool",
    "sparkdl.nn.layers.pooling.stochastic_pool": "StochasticPool2D",
    "sparkdl.nn.layers.recurrent.bidirectional": "Bidirectional",
    "sparkdl.nn.layers.recurrent.gru": "GRU",
    "sparkdl.nn.layers.recurrent.lstm": "LSTM GravesLSTM",
    "sparkdl.nn.layers.recurrent.simple_rnn": "SimpleRnn",
    "sparkdl.nn.layers.recurrent.steps": "LastTimeStep Masking",
    "sparkdl.nn.layers.recurrent.time_axis": "DuplicateToTime ReverseTime",
    "sparkdl.nn.layers.regularization.dropout": "Dropout",
    "sparkdl.nn.layers.regularization.noise": """
        AlphaDropout GaussianDropout GaussianNoise RRelu SpatialDropout""",
    "sparkdl.nn.layers.regularization.stochastic_depth": "StochasticDepth",
    "sparkdl.nn.layers.reshaping.flatten": "Flatten",
    "sparkdl.nn.layers.reshaping.margins": """
        Cropping1D Cropping2D Cropping3D ZeroPadding1D ZeroPadding2D ZeroPadding3D""",
    "sparkdl.nn.layers.reshaping.reshape": "Permute RepeatVector Reshape",
    "sparkdl.nn.layers.reshaping.space_to_depth": "DepthToSpace SpaceToDepth",
    "sparkdl.nn.layers.reshaping.subset": "Subset",
    "sparkdl.nn.layers.reshaping.upsampling": "UpSampling1D UpSampling2D UpSampling3D",
    "sparkdl.nn.layers.unsupervised.auto_encoder": "AutoEncoder",
    "sparkdl.nn.layers.unsupervised.reconstruction": "Reconstruction",
    "sparkdl.nn.layers.unsupervised.variational_auto_encoder": "VariationalAutoencoder",
    "sparkdl.nn.layers.wrappers.frozen": "Frozen",
    "sparkdl.nn.layers.wrappers.time_distributed": "TimeDistributed",
}
BASES = {
    "sparkdl.nn.layers.attention.base": "Attention",
    "sparkdl.nn.layers.core.base": "Layer",
    "sparkdl.nn.layers.joining.merge": "JoiningLayer",
    "sparkdl.nn.layers.outputs.base": "ScoredLayer",
    "sparkdl.nn.layers.recurrent.base": "Recurrent",
    "sparkdl.nn.layers.unsupervised.base": "UnsupervisedLayer",
    "sparkdl.nn.layers.wrappers.base": "Wrapper",
}

MEMBERS = homes(LAYERS)
__all__ = [*MEMBERS, "Layer"]
__all__.sort(key=str.casefold)
__getattr__, __dir__ = lazy_names(__name__, MEMBERS | homes(BASES))
