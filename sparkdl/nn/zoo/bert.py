"""BERT, a text encoder."""

from typing import Any

from sparkdl.errors import ConfigError
from sparkdl.nn.initializers import Normal
from sparkdl.nn.layers import (
    Dense,
    Dropout,
    ElementWise,
    EmbeddingSequence,
    Flatten,
    GlobalPool,
    LayerNorm,
    Output,
    PositionEmbedding,
    Subset,
)
from sparkdl.nn.networks.graph import GraphConf
from sparkdl.nn.networks.graph_builder import GraphBuilder
from sparkdl.nn.zoo.arguments import check_arguments
from sparkdl.nn.zoo.transformer_blocks import Blocks

POOLINGS = ("first", "mean", None)


@check_arguments(padding_id=0)
def bert(
    tokens: int = 30_522,
    steps: int = 512,
    width: int = 768,
    depth: int = 12,
    heads: int = 12,
    hidden: int | None = None,
    dropout: float = 0.0,
    attention_dropout: float = 0.0,
    activation: Any = "gelu",
    epsilon: float = 1e-12,
    segments: int | None = None,
    pooling: str | None = "first",
    pooler: Any = "tanh",
    classes: int | None = None,
    loss: Any = "softmax_cross_entropy",
    padding_id: int | None = 0,
    classifier_dropout: float | None = None,
    mixed_dropout: float | None = None,
    **options: Any,
) -> GraphConf:
    """Builds BERT, and networks of its form: DistilBERT, MiniLM.

    It takes token ids (steps, 1). Texts may be shorter: lists in a DataFrame are padded and masked,
    and `padding_id` always marks padding. `read_transformer` loads the weights of a Hugging Face
    folder.

    Parameters
    ----------
    tokens, steps, width, depth, heads, hidden : int
        Vocabulary size, longest text, embedding size, blocks, attention heads, units between the
        dense layers of a block (4 width unless given). The defaults are those of BERT-base.
    dropout, attention_dropout : float
        Dropout rates: of the embeddings and of what each branch adds; of the attention weights.
    activation : activation function
        Between the dense layers.
    epsilon : float
        Epsilon of the layer normalizations.
    segments : int, optional
        Number of texts that an example may have. A second input, "segments" (steps, 1), then tells
        the text of each token, and the column of the token ids is "tokens". None: all tokens are of
        one text, and the only column is "features".
    pooling : "first", "mean" or None
        Pooling of the tokens: a dense layer on the first one, the mean of all, or none.
    pooler : activation function
        Of that dense layer: "relu" in DistilBERT.
    classes : int, optional
        Number of classes, of texts or, without pooling, of each token. None: no output layer.
    loss : loss, name or mapping
        Of the classes.
    padding_id : int, optional
        Id of the padding token, which is masked wherever it occurs. None: no id is padding, and
        only the mask column tells where texts end.
    classifier_dropout : float, optional
        Dropout rate before the classifier. None: `dropout`.
    mixed_dropout : float, optional
        Dropout rate of what attention adds: 0 in DistilBERT. None: `dropout`.

    References
    ----------
    Devlin et al., BERT: pre-training of deep bidirectional transformers for language understanding
    (2019).
    """
    if pooling not in POOLINGS:
        raise ConfigError(f"bert.pooling must be one of {POOLINGS}, got {pooling!r}")
    build = GraphBuilder(features=(steps, 1))
    if segments is not None:
        build = GraphBuilder(tokens=(steps, 1), segments=(steps, 1))
    add_embeddings(build, tokens, width, segments, padding_id)
    build.add(LayerNorm(epsilon=epsilon), name="norm")
    if dropout:
        build.add(Dropout(rate=dropout), name="dropout")
    blocks = Blocks(
        width=width,
        heads=heads,
        hidden=hidden,
        dropout=dropout,
        attention_dropout=attention_dropout,
        mixed_dropout=mixed_dropout,
        activation=activation,
        norm_first=False,
        epsilon=epsilon,
    )
    blocks.add_to(build, depth)
    add_pooling(build, pooling, width, pooler)
    if classes is not None:
        rate = dropout if classifier_dropout is None else classifier_dropout
        if rate:
            build.add(Dropout(rate=rate), name="output/dropout")
        build.add(Output(units=classes, loss=loss), name="output")
    return build.conf(**({"initializer": Normal(std=0.02)} | options))


def add_embeddings(
    build: GraphBuilder, tokens: int, width: int, segments: int | None, padding_id: int | None
) -> None:
    """Adds the embeddings of tokens, positions, and segments if there are any."""
    words = EmbeddingSequence(vocabulary_size=tokens, units=width, padding_id=padding_id)
    build.add(words, next(iter(build.inputs)), name="embedding")
    if segments is not None:
        table = EmbeddingSequence(vocabulary_size=segments, units=width)
        build.add(table, "segments", name="segment_embedding")
        build.add(ElementWise(operation="add"), "embedding", "segment_embedding", name="embeddings")
    build.add(PositionEmbedding(), name="positions")


def add_pooling(build: GraphBuilder, pooling: str | None, width: int, pooler: Any) -> None:
    """Adds the pooling of steps to one row."""
    if pooling == "first":
        build.add(Subset(start=0, stop=1, axis=0), name="first")
        build.add(Flatten(), name="first/row")
        build.add(Dense(units=width, activation=pooler), name="pooler")
    elif pooling == "mean":
        build.add(GlobalPool(kind="avg"), name="mean")
