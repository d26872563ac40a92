"""A transformer that predicts the next symbol of a text."""

from typing import Any

from sparkdl.nn.initializers import Normal
from sparkdl.nn.layers import EmbeddingSequence, LayerNorm, PositionEmbedding, RnnOutput
from sparkdl.nn.networks.graph import GraphConf
from sparkdl.nn.networks.graph_builder import GraphBuilder
from sparkdl.nn.zoo.arguments import check_arguments
from sparkdl.nn.zoo.transformer_blocks import Blocks


@check_arguments()
def transformer(
    symbols: int = 65,
    steps: int = 128,
    width: int = 256,
    depth: int = 4,
    heads: int = 4,
    hidden: int | None = None,
    dropout: float = 0.0,
    **options: Any,
) -> GraphConf:
    """Builds `depth` blocks of causal self attention and two dense layers, each with a shortcut.

    Parameters
    ----------
    symbols : int
        How many there are: indices 0 to symbols - 1, one per step.
    steps, width, depth, heads, hidden : int
        Length of a text, numbers per step, blocks, heads of attention, numbers between the dense
        layers of a block (4 width unless given).
    dropout : float
        Dropout rate of what each branch adds, and of the attention weights, in [0, 1).

    References
    ----------
    Vaswani et al., Attention is all you need (2017); Radford et al., Language models are
    unsupervised multitask learners (2019), section 2.3, for where the normalization stands.
    """
    build = GraphBuilder(features=(steps,))
    build.add(EmbeddingSequence(vocabulary_size=symbols, units=width), name="symbols")
    build.add(PositionEmbedding(), name="positions")
    blocks = Blocks(width=width, heads=heads, hidden=hidden, dropout=dropout, causal=True)
    blocks.add_to(build, depth)
    build.add(LayerNorm(), name="norm")
    build.add(RnnOutput(units=symbols), name="output")
    return build.conf(**({"initializer": Normal(std=0.02)} | options))
