"""GPT-2, which predicts the next token of a text."""

from typing import Any

from sparkdl.nn.activations import Gelu
from sparkdl.nn.initializers import Normal
from sparkdl.nn.layers import (
    Dropout,
    EmbeddingSequence,
    LastTimeStep,
    LayerNorm,
    Output,
    PositionEmbedding,
    RnnOutput,
)
from sparkdl.nn.networks.graph import GraphConf
from sparkdl.nn.networks.graph_builder import GraphBuilder
from sparkdl.nn.zoo.arguments import check_arguments
from sparkdl.nn.zoo.transformer_blocks import Blocks


@check_arguments()
def gpt2(
    tokens: int = 50_257,
    steps: int = 1024,
    width: int = 768,
    depth: int = 12,
    heads: int = 12,
    hidden: int | None = None,
    dropout: float = 0.0,
    attention_dropout: float = 0.0,
    activation: Any = None,
    epsilon: float = 1e-5,
    classes: int | None = None,
    loss: Any = "softmax_cross_entropy",
    embedding_dropout: float | None = None,
    **options: Any,
) -> GraphConf:
    """Builds GPT-2: blocks of causal self attention, normalized before each branch.

    It takes token ids (steps, 1), or fewer with a mask: no id is padding. `read_transformer` loads
    the weights of a Hugging Face folder. The output layer has its own weights, while GPT-2 ties
    them to the token embedding, so there are more parameters.

    Parameters
    ----------
    tokens, steps, width, depth, heads, hidden : int
        Vocabulary size, longest text, embedding size, blocks, attention heads, units between the
        dense layers of a block (4 width unless given). The defaults are those of the smallest
        GPT-2.
    dropout, attention_dropout : float
        Dropout rates: of what each branch adds; of the attention weights.
    activation : activation function, default Gelu(approximate=True)
        Between the dense layers.
    epsilon : float
        Epsilon of the layer normalizations.
    classes : int, optional
        Number of classes of texts, predicted from the last token. None: predict each next token.
    loss : loss, name or mapping
        Of the classes.
    embedding_dropout : float, optional
        Dropout rate of the embeddings. None: `dropout`.

    References
    ----------
    Radford et al., Language models are unsupervised multitask learners (2019).
    """
    build = GraphBuilder(features=(steps, 1))
    build.add(EmbeddingSequence(vocabulary_size=tokens, units=width), name="embedding")
    build.add(PositionEmbedding(), name="positions")
    rate = dropout if embedding_dropout is None else embedding_dropout
    if rate:
        build.add(Dropout(rate=rate), name="dropout")
    blocks = Blocks(
        width=width,
        heads=heads,
        hidden=hidden,
        dropout=dropout,
        attention_dropout=attention_dropout,
        activation=Gelu(approximate=True) if activation is None else activation,
        causal=True,
        epsilon=epsilon,
    )
    blocks.add_to(build, depth)
    build.add(LayerNorm(epsilon=epsilon), name="norm")
    if classes is None:
        build.add(RnnOutput(units=tokens, bias=False), name="output")
    else:
        build.add(LastTimeStep(), name="last")
        build.add(Output(units=classes, bias=False, loss=loss), name="output")
    return build.conf(**({"initializer": Normal(std=0.02)} | options))
